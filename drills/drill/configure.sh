# shellcheck shell=bash disable=SC2154 # read by cluster.sh, whose variables it uses
# The files that the daemons of a cluster read.

write_slurm_conf() {
	local ports i
	mapfile -t ports < <(free_ports $((nodes + 1)))
	cat >"$dir/slurm.conf" <<END
ClusterName=drill
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket,cred_expire=$requeue_delay
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/state/slurmctld.pid
SlurmdPidFile=$dir/spool/%n.pid
SlurmctldDebug=verbose
SlurmdDebug=verbose
MailProg=/bin/true
SwitchType=switch/none
MpiDefault=none

SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=256
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PriorityType=priority/basic
EnforcePartLimits=$part_limits
MaxArraySize=$max_array
MinJobAge=$job_age
JobRequeue=1
ReturnToService=2

# What takes minutes on a real cluster takes seconds here.
SlurmdTimeout=10
SlurmctldTimeout=10
MessageTimeout=5
BatchStartTimeout=10
KillWait=5
OverTimeLimit=0

ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
GresTypes=gpu
# What is said about a node counts, not what slurmd finds on this machine.
SlurmdParameters=config_overrides
END
	for ((i = 1; i <= nodes; i++)); do
		echo "NodeName=n$i NodeAddr=127.0.0.1 Port=${ports[i]} CPUs=$cpus RealMemory=$memory Gres=gpu:$gpus"
	done >>"$dir/slurm.conf"
	cat >>"$dir/slurm.conf" <<END
PartitionName=DEFAULT Nodes=ALL State=UP PriorityTier=1 PreemptMode=OFF MaxTime=INFINITE
PartitionName=main Default=YES
PartitionName=short MaxTime=1
PartitionName=closed AllowAccounts=nobody
PartitionName=drained State=DRAIN
PartitionName=spot PreemptMode=REQUEUE
PartitionName=urgent PriorityTier=10
END
}

# Slurm wants a device for each GPU before it sets CUDA_VISIBLE_DEVICES; any will do.
write_gres_conf() {
	local i
	for ((i = 0; i < gpus; i++)); do ln -s /dev/null "$dir/gpu/$i"; done
	((gpus == 0)) || echo "Name=gpu File=$dir/gpu/[0-$((gpus - 1))]" >"$dir/gres.conf"
}

# The kernel holds jobs to their memory where it can, and the end of a job is
# OUT_OF_MEMORY. Elsewhere Slurm looks every second, and what it kills is FAILED.
write_memory_limits() {
	if [[ $memory_by == kernel ]]; then
		echo "TaskPlugin=task/cgroup" >>"$dir/slurm.conf"
		printf '%s\n' CgroupPlugin=cgroup/v1 "CgroupMountpoint=$dir/cgroup" ConstrainRAMSpace=yes ConstrainSwapSpace=yes MinRAMSpace=1 >"$dir/cgroup.conf"
	else
		printf '%s\n' TaskPlugin=task/none JobAcctGatherParams=OverMemoryKill >>"$dir/slurm.conf"
	fi
}

write_accounting() {
	local ports
	if [[ $accounting == no ]]; then
		echo "AccountingStorageType=accounting_storage/none" >>"$dir/slurm.conf"
		return
	fi
	mapfile -t ports < <(free_ports 2)
	cat >>"$dir/slurm.conf" <<END
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=${ports[0]}
AccountingStoragePass=$dir/munge/socket
AccountingStorageEnforce=associations,limits,qos
END
	cat >"$dir/slurmdbd.conf" <<END
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=${ports[0]}
SlurmUser=$(id -un)
PidFile=$dir/state/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=${ports[1]}
StorageUser=slurm
StoragePass=slurm
END
	chmod 600 "$dir/slurmdbd.conf"
	cat >"$dir/my.cnf" <<END
[mariadbd]
datadir=$dir/db
socket=$dir/db.socket
pid-file=$dir/state/mariadbd.pid
bind-address=127.0.0.1
port=${ports[1]}
user=$(id -un)
skip-log-bin
innodb_buffer_pool_size=32M
innodb_log_file_size=16M
END
}
