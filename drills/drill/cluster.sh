#!/usr/bin/env bash
# A Slurm cluster of one machine, for tests and drills: munged, slurmctld and a
# slurmd a node, none of them installed, all of their files in one folder.
set -euo pipefail

usage() {
	cat <<'END'
cluster.sh check [--accounting]        say what is missing here, with exit status 69
cluster.sh start DIR [options]         start a cluster with its files in DIR, and print what env prints
    --nodes N            nodes, named n1, n2, … (1)
    --cpus N             CPUs of each node (those of the machine)
    --memory MIB         memory of each node (that of the machine)
    --gpus N             GPUs of each node, in name only (0)
    --max-array N        indices of an array are below it (1001)
    --requeue-delay S    seconds before a requeued job may start, 5 or more (6)
    --job-age S          seconds for which Slurm remembers a job that has ended (300)
    --part-limits WORD   Slurm's EnforcePartLimits, NO or ALL (NO)
    --memory-by WHO      who kills jobs that need too much memory: kernel (cgroup v1, root), or slurm
    --hide NODE=FOLDER   the node sees FOLDER empty; may be repeated
    --accounting         with slurmdbd and MariaDB: sacct, and the account lab
cluster.sh env DIR                     print the environment of those who speak to it
cluster.sh kill-node DIR NODE          end a node and its jobs at once, like a power cut
cluster.sh start-node DIR NODE         start a node that was killed
cluster.sh kill-controller DIR         end slurmctld at once; jobs go on, those of its last seconds are forgotten
cluster.sh start-controller DIR        start it again, from the state that it saved
cluster.sh stop DIR                    end everything; the logs in DIR/log stay
partitions: main (default), short (a minute at most), closed (for an account that no user has), drained (takes
    no jobs), spot (its jobs give way to those of urgent), urgent
END
}

die() { # STATUS TEXT…
	local status=$1
	shift
	echo "cluster.sh: $*" >&2
	exit "$status"
}

need() { # DEBIAN_PACKAGES TOOL…
	local packages=$1 tool
	shift
	for tool; do
		command -v "$tool" >/dev/null || die 69 "$tool is missing: install the Debian packages $packages"
	done
}

check() { # yes, with accounting; or no
	need "slurm-wlm and munge" munged mungekey munge slurmctld slurmd sbatch
	[[ $1 == no ]] || need "slurmdbd and mariadb-server" slurmdbd mariadbd mariadb mariadb-admin mariadb-install-db
	"${unshare[@]}" true 2>/dev/null || die 69 "this machine allows no namespaces: run as root, outside of a container"
}

# ours PID: whether the process is one of this cluster, and not one to which a
# number from before a restart of the machine has come.
ours() { grep -qsaF "SLURM_CONF=$dir/slurm.conf" "/proc/$1/environ"; }

# spawn NAME COMMAND…: a daemon that outlives this script and its terminal.
spawn() {
	local name=$1
	shift
	setsid "$@" </dev/null >>"$dir/log/$name.log" 2>&1 &
	echo $! >"$dir/pids/$name"
	disown
	until ours $! || gone $!; do sleep 0.01; done # it is this script until then
}

# gone PID: whether the process has ended; its parent may not have waited for it yet.
gone() { ! grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$1/status"; }

# kill_daemon NAME: SIGKILL to its process group. It returns when the daemon and
# its children are gone; the first process of a node goes last of all in there.
kill_daemon() {
	[[ -s $dir/pids/$1 ]] || return 0
	local pid children=''
	pid=$(<"$dir/pids/$1")
	if ours "$pid"; then
		read -r children <"/proc/$pid/task/$pid/children" || true
		kill -KILL -- "-$pid" 2>/dev/null || true
		for pid in $pid $children; do
			until gone "$pid"; do sleep 0.02; done
		done
	fi
	rm -f "$dir/pids/$1"
}

# wait_for SECONDS WHAT COMMAND…
wait_for() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[[ -z $interrupted ]] || die 130 "interrupted"
		((SECONDS < end)) || die 1 "$what takes too long; see the logs in $dir/log"
		sleep 0.1
	done
}

# free_ports N: N ports on which no process listens, below those that the kernel gives to clients.
free_ports() {
	local found=0 port
	while ((found < $1)); do
		port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
		if ! (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			echo "$port"
			found=$((found + 1))
		fi
	done
}

start_munge() {
	spawn munged munged --foreground --force --num-threads=2 --socket="$dir/munge/socket" --key-file="$dir/munge/key" \
		--pid-file="$dir/munge/pid" --seed-file="$dir/munge/seed"
	wait_for 10 "the start of munged" munge --socket="$dir/munge/socket" --no-input
}

start_accounting() {
	mariadb-install-db --no-defaults --datadir="$dir/db" --user="$(id -un)" --auth-root-authentication-method=normal \
		--skip-test-db >"$dir/log/mariadb-install-db.log" 2>&1
	spawn mariadbd mariadbd --defaults-file="$dir/my.cnf"
	wait_for 30 "the start of MariaDB" mariadb-admin --no-defaults --socket="$dir/db.socket" --user=root ping
	mariadb --no-defaults --socket="$dir/db.socket" --user=root -e "GRANT ALL ON slurm_acct_db.* TO slurm@localhost IDENTIFIED BY 'slurm'"
	spawn slurmdbd slurmdbd -D
	wait_for 30 "the start of slurmdbd" sacctmgr -n show cluster
	sacctmgr -iQ add cluster drill >/dev/null
	sacctmgr -iQ add account lab Description=lab Organization=lab >/dev/null
	sacctmgr -iQ add user "$(id -un)" Account=lab >/dev/null
}

start_controller() {
	spawn slurmctld slurmctld -D -f "$dir/slurm.conf"
	wait_for 20 "the start of slurmctld" scontrol ping
}

memory_group() { echo "/sys/fs/cgroup/memory/drill-$(cksum <<<"$dir" | cut -d' ' -f1)-$1"; }

# start_node NODE: a slurmd in namespaces of its own. The machine has the name of
# the node there, a folder can be hidden, and all processes of its jobs end with
# the first one of the namespace, as when a machine dies.
start_node() {
	local group='' hidden=()
	[[ ! -f $dir/hidden/$1 ]] || mapfile -t hidden <"$dir/hidden/$1"
	[[ ! -f $dir/cgroup.conf ]] || group=$(memory_group "$1")
	mkdir -p "$dir/spool/$1" "$dir/cgroup/memory" ${group:+"$group"}
	# shellcheck disable=SC2016 # for the inner shell to expand
	spawn "$1" "${unshare[@]}" bash -c '
		hostname "$1"
		[[ -z $3 ]] || mount --bind "$3" "$2/cgroup/memory"
		for folder in "${@:4}"; do mount -t tmpfs tmpfs "$folder"; done
		slurmd -D -N "$1" -f "$2/slurm.conf" &
		wait' node "$1" "$dir" "$group" "${hidden[@]}"
	wait_for 30 "the start of node $1" node_is_up "$1"
}

node_is_up() { [[ $(sinfo --noheader --nodes="$1" --partition=main --format=%T) =~ ^(idle|mixed|allocated)$ ]]; }

kill_node() {
	[[ -s $dir/pids/$1 ]] || die 64 "$1 is not a node that runs"
	end_node "$1"
}

end_node() {
	kill_daemon "$1"
	local group
	group=$(memory_group "$1")
	[[ ! -d $group ]] || wait_for 10 "the end of the jobs of $1" find "$group" -depth -type d -exec rmdir {} +
}

who_limits_memory() { # kernel, where this machine has cgroup v1 and lets us use it
	local group
	group=$(memory_group trial)
	if [[ $(id -u) == 0 && -e /sys/fs/cgroup/memory/memory.limit_in_bytes ]] && mkdir "$group" 2>/dev/null; then
		rmdir "$group"
		echo kernel
	else
		echo slurm
	fi
}

start() {
	local nodes=1 cpus memory gpus=0 max_array=1001 requeue_delay=6 job_age=300 part_limits=NO memory_by accounting=no hide=() i
	# An end between two steps, so that stop knows of every daemon.
	trap 'interrupted=yes' INT TERM HUP
	cpus=$(nproc)
	memory=$(awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo)
	memory_by=$(who_limits_memory)
	while (($# > 0)); do
		[[ $1 == --accounting ]] && { accounting=yes; shift; continue; }
		(($# > 1)) || die 64 "$1 is unknown or lacks its value"
		case $1 in
		--nodes) nodes=$2 ;;
		--cpus) cpus=$2 ;;
		--memory) memory=$2 ;;
		--gpus) gpus=$2 ;;
		--max-array) max_array=$2 ;;
		--requeue-delay) requeue_delay=$2 ;;
		--job-age) job_age=$2 ;;
		--part-limits) [[ $2 =~ ^(NO|ALL|ANY)$ ]] || die 64 "--part-limits $2: want NO, ANY or ALL"; part_limits=$2 ;;
		--memory-by) [[ $2 =~ ^(kernel|slurm)$ ]] || die 64 "--memory-by $2: want kernel or slurm"; memory_by=$2 ;;
		--hide) [[ $2 == n*=/* ]] || die 64 "--hide $2: want NODE=/FOLDER"; hide+=("$2") ;;
		*) die 64 "$1 is unknown" ;;
		esac
		shift 2
	done
	check "$accounting"
	((${#dir} <= 70)) || die 64 "$dir is too long for the names of sockets: at most 70 bytes"
	[[ ! -e $dir/slurm.conf ]] || die 64 "$dir has a cluster: stop it and delete the folder, or name another"

	mkdir -p "$dir"/{pids,log,munge,state,spool,gpu,hidden}
	chmod 755 "$dir" "$dir/munge"
	trap 'stop' EXIT
	for i in "${hide[@]}"; do echo "${i#*=}" >>"$dir/hidden/${i%%=*}"; done
	mungekey --create --keyfile "$dir/munge/key"
	write_slurm_conf
	write_gres_conf
	write_memory_limits
	write_accounting
	start_munge
	[[ $accounting == no ]] || start_accounting
	start_controller
	for ((i = 1; i <= nodes; i++)); do start_node "n$i"; done
	[[ -z $interrupted ]] || die 130 "interrupted"
	trap - EXIT
	print_env
}

print_env() { printf 'export SLURM_CONF=%q\n' "$dir/slurm.conf"; }

stop() {
	local file
	for file in "$dir"/pids/n[0-9]*; do
		[[ ! -e $file ]] || end_node "${file##*/}"
	done
	for file in "$dir"/pids/*; do
		[[ ! -e $file ]] || kill_daemon "${file##*/}"
	done
}

export PATH=$PATH:/usr/sbin:/sbin
# shellcheck source-path=SCRIPTDIR source=configure.sh
source "$(dirname "${BASH_SOURCE[0]}")/configure.sh"
unshare=(unshare --uts --pid --mount --fork --kill-child --mount-proc)
[[ $(id -u) == 0 ]] || unshare+=(--user --map-current-user --keep-caps)
case $* in
check) check no; exit ;;
"check --accounting") check yes; exit ;;
esac
(($# >= 2)) || { usage >&2; exit 64; }
command=$1 dir=$(realpath -m "$2")
shift 2
export SLURM_CONF=$dir/slurm.conf
interrupted=''

case $command:$# in
start:*) start "$@" ;;
env:0) print_env ;;
kill-node:1) kill_node "$1" ;;
start-node:1) start_node "$1" ;;
kill-controller:0) kill_daemon slurmctld ;;
start-controller:0) start_controller ;;
stop:0) stop ;;
*) usage >&2; exit 64 ;;
esac
