"""The client against the real program: needs nothing but the standard library."""

import os
import signal
import tempfile
import unittest

from speceval import Client, ProtocolError
from speceval.client import ProgramError

TASKS = [f"t{i}" for i in range(6)]


def reward(task: str, number: int) -> float:
    return float((int(task[1:]) * 7 + number * 5) % 11 < int(task[1:]) * 2)


class TheClient(unittest.TestCase):
    def run_out(self, client: Client, stop: int = 1 << 30) -> int:
        done = 0
        while done < stop and not client.estimate()["complete"]:
            for task, number in client.next(most=3):
                client.completed(task, number, reward(task, number))
                done += 1
        return done

    def test_an_evaluation(self) -> None:
        with Client() as client:
            self.assertEqual(client.start(TASKS, budget=8, ahead=False)["rollouts"], 48)
            self.assertEqual(self.run_out(client), 48)
            estimate = client.estimate(tasks=True)
            self.assertEqual((estimate["rollouts"], len(estimate["tasks"])), (48, 6))

    def test_a_killed_server_goes_on(self) -> None:
        with Client() as client:
            client.start(TASKS, budget=8)
            self.run_out(client)
            want = client.estimate()
        with tempfile.TemporaryDirectory() as state:
            for session in range(6):
                client = Client(state=state)
                client.start(TASKS, budget=8)
                self.run_out(client, stop=9 if session < 5 else 1 << 30)
                client.next(most=2)  # in flight when it is killed
                if session == 5:
                    self.assertEqual(client.estimate(), want)
                os.kill(client._process.pid, signal.SIGKILL)
                client.close()

    def test_faults(self) -> None:
        with Client() as client:
            with self.assertRaises(ProtocolError) as caught:
                client.start(["a"], budget=8)
            self.assertEqual(caught.exception.field, "tasks")
            client.start(TASKS, budget=8)
            with self.assertRaises(ProtocolError) as caught:
                client.completed("t0", 99, 1)
            self.assertEqual(caught.exception.field, "rollout")
            os.kill(client._process.pid, signal.SIGKILL)
            with self.assertRaisesRegex(ProgramError, "has ended"):
                client.estimate()
        with self.assertRaisesRegex(ProgramError, "it was closed"):
            client.estimate()
        with self.assertRaisesRegex(ProgramError, "cannot be started"):
            Client(binary="/nowhere/speceval")


if __name__ == "__main__":
    unittest.main()
