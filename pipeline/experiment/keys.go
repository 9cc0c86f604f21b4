package experiment

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"speceval/internal/serving"
	"speceval/internal/vllm"
	"speceval/pipeline/config"
)

// KeyVariable is the environment variable with the key of workers that name none. It is
// theirs where all workers are on one host, so that no server gets the key of another; the
// judge gets it only where judge.key_env names it.
const KeyVariable = "SPECEVAL_API_KEY"

// value is what a variable is in an environment; "" if it is not there.
func value(environment []string, name string) string {
	for _, entry := range slices.Backward(environment) { // the last counts
		if text, found := strings.CutPrefix(entry, name+"="); found {
			return text
		}
	}
	return ""
}

// setKey gives a worker the key of the variable with a name, where owner names it.
func setKey(w *serving.Worker, environment []string, name, owner string) {
	w.Key = vllm.Key(value(environment, name))
	w.KeyHint = fmt.Sprintf("the key of %s is taken from the environment variable %s", owner, name)
	switch fault := w.Key.Check(); {
	case w.Key == "":
		w.KeyFault = fmt.Errorf("key_env of %s names the environment variable %s, which is not set", owner, name)
	case fault != nil:
		w.KeyFault = fmt.Errorf("the environment variable %s: %w", name, fault)
	}
}

// setWorkerKey gives a worker its key: that of the variable it names, or that of
// KeyVariable where all workers are on one host.
func setWorkerKey(w *serving.Worker, of config.Worker, oneHost bool, environment []string) {
	owner := "worker " + of.Name
	switch {
	case of.KeyEnv != "":
		setKey(w, environment, of.KeyEnv, owner)
	case !oneHost:
		w.KeyHint = fmt.Sprintf("no key is sent to %s, since workers are on several hosts: name the environment variable with its key in key_env, or as --worker URL,key_env=NAME", owner)
	default:
		setKey(w, environment, KeyVariable, owner)
		if w.Key == "" {
			w.KeyFault = nil // nothing asks for one
		}
	}
}

// judgeWorker is the servers of the judge, which get a key where one is named for them.
func judgeWorker(cfg *config.Config, environment []string) serving.Worker {
	w := serving.Worker{Name: "judge", URLs: cfg.Judge.URLs}
	if cfg.Judge.KeyEnv == "" {
		w.KeyHint = "no key is sent to the judge: name the environment variable with its key in judge.key_env"
		return w
	}
	setKey(&w, environment, cfg.Judge.KeyEnv, "the judge")
	return w
}

// onOneHost tells whether all workers are on the same host. Servers that are launched are
// on this one.
func onOneHost(workers []config.Worker) bool {
	hosts := map[string]bool{}
	for _, w := range workers {
		if w.Launch != "" {
			hosts[here] = true
		}
		for _, address := range w.URLs {
			hosts[hostOf(address)] = true
		}
	}
	return len(hosts) <= 1
}

// here is this machine.
const here = "127.0.0.1"

// hostOf is the host of an address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	switch host := strings.ToLower(u.Hostname()); host {
	case "localhost", "::1":
		return here
	default:
		return host
	}
}

// withoutKeys is an environment without the keys of servers, which are no concern of other
// programs that are started.
func withoutKeys(environment []string, cfg *config.Config) []string {
	names := []string{KeyVariable, cfg.Judge.KeyEnv}
	for _, w := range cfg.Workers {
		names = append(names, w.KeyEnv)
	}
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name != "" && slices.Contains(names, name)
	})
}
