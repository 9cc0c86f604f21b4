package hostile

// Bound is something that attacks try to have more of than they may.
type Bound struct {
	Name string // as attacks name it, in their third lines
	By   string // what holds it
	Also string // what holds it as well where there are control groups, "" for nothing
}

// Bounds are all of them. They are the rows of the table in docs/security.md.
var Bounds = []Bound{
	{"CPU time", "the driver's account of all processes, no handlers for the ends of children, RLIMIT_CPU", "cpu.stat, which is of all processes that ever were"},
	{"waiting", "the driver: time when no thread runs or would like to", ""},
	{"memory", "RLIMIT_AS of each process; the driver's account of pages, their tables, what was swapped out, mappings and sockets", "memory.max"},
	{"memory of no process", "the filter: no shared memory, no shared pages without a file, no long pipes, no pages given to pipes, no rules or attributes that the kernel keeps", "memory.max"},
	{"processes", "RLIMIT_NPROC, threads included; all end with the test", "pids.max"},
	{"files", "the size of the scratch folder, the driver's count, RLIMIT_FSIZE; the folder is empty before each run", "memory.max"},
	{"output", "RLIMIT_FSIZE; results are compared as they are read", ""},
	{"parts of the machine", "the filter and devices: no watches of files, no locks on files, no terminals, no locked memory, 64 timers", ""},
	{"network", "a network namespace without interfaces, and no sockets but local ones", ""},
	{"files and processes of others", "namespaces of files, processes and users, no capabilities, all but the scratch folder read-only", ""},
	{"the driver", "process 1 of its namespace, closed to the others; it dies with its user", ""},
	{"verdicts", "outputs are compared outside; what is right is never told in there", ""},
}
