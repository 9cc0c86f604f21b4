# leaves files for its next test: deep, closed, and without access to any folder
# prints: clean
# bound: files
import os
left = [name for name in os.listdir("/tmp") if os.path.abspath(os.path.join("/tmp", name)) != os.getcwd()]
if os.listdir("."):
    left.append("in the folder")
print(left or "clean", flush=True)
with open("/tmp/note", "x") as file:
    file.write("for the next")
for i in range(1000):
    open(f"x{i}", "w").close()
at = os.getcwd()
for _ in range(1500):
    os.mkdir("a-folder-with-a-name")
    open("file", "w").close()
    os.chdir("a-folder-with-a-name")
os.mkdir("closed")
os.chmod("closed", 0)
os.symlink("/", "link")
os.mkfifo("pipe")
os.chdir(at)
os.chmod("a-folder-with-a-name", 0)
try:
    os.chmod("/tmp", 0)
except OSError:
    pass
