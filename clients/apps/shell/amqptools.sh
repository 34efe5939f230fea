#!/usr/bin/env bash
# An application on amqp-tools, the command line of librabbitmq in C: a loop that takes jobs with amqp-get, one by one,
# and publishes those that fail into a queue for people. amqp-publish writes no headers.
#
#   bash amqptools.sh version
#   bash amqptools.sh setup    declares everything
#   bash amqptools.sh send N   publishes jobs 0 to N-1
#   bash amqptools.sh work     handles them until it is ended: all fail, or, with OK=1, all succeed
#
# With CONSUME=1 `work` runs amqp-consume, whose command fails: it ends, the job goes back, and the loop starts it again.
tool() { "amqp-$1" -u "$AMQP_URL" "${@:2}"; }

handle() {
	if [ -n "$OK" ]; then
		echo "PROCESSED ${1#job }"
	else
		echo "FAILED ${1#job }" && return 1
	fi
}
export -f handle

case $1 in
version) amqp-get --version 2>/dev/null || echo "amqp-tools $(dpkg-query -W -f '${Version}' amqp-tools)" ;;
setup) for queue in ct.jobs ct.jobs.err; do tool declare-queue -d -q $queue; done ;;
send) for ((i = 0; i < $2; i++)); do tool publish -r ct.jobs -p -C text/plain -b "job $i"; done ;;
work)
	while [ -n "$CONSUME" ]; do
		timeout 1 amqp-consume -u "$AMQP_URL" -q ct.jobs -p 1 -- bash -c 'handle "$(cat)"' 2>/dev/null
		sleep 0.1
	done
	while true; do
		job=$(tool get -q ct.jobs 2>/dev/null) && [ -n "$job" ] || { sleep 0.3 && continue; }
		handle "$job" || tool publish -r ct.jobs.err -p -b "$job"
	done
	;;
esac
