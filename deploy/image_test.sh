#!/usr/bin/env bash
# Builds the image, and runs it as deploy/kubernetes would: not root, read-only, without capabilities, with 256 MiB.
# Sends requests and attacks from outside, stops the container, and prints sizes, times and memory.
#
#   deploy/image_test.sh              exit status 0: every check passed
#
# Environment, each optional: ENGINE, BASE, PIP_CONF and CA_BUNDLE (deploy/image.py), and KEEP=1, which keeps the image.
# If no engine works, Debian's Podman is installed. If the base image can't be pulled, Debian bookworm with its
# Python 3.11 is used instead: localhost/axiscast-base:bookworm is made in a minute, and kept for the next test.
#
# Needs Bash 5, Python 3.11 (its standard library), Git, and an engine or apt-get.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Runs beside each other, and an image that is there, are left alone.
readonly IMAGE=localhost/axiscast:image-test-$$-$RANDOM
readonly MEMORY_MIB=256
readonly READY_SECONDS=30
readonly SIEGE_SECONDS=10
readonly STOP_SECONDS=15

step() { printf '\n==> %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }
die() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}
milliseconds() { printf '%s' $((${EPOCHREALTIME/[.,]/} / 1000)); }
seconds_since() { python3 -c 'import sys; print(f"{(int(sys.argv[2]) - int(sys.argv[1])) / 1000:.1f} s")' "$1" "$(milliseconds)"; }

# What is not here, from Debian: install COMMAND PACKAGE...
install() {
  local command=$1 sudo=()
  shift
  command -v "$command" >/dev/null && return
  command -v apt-get >/dev/null || die "there is no $command here, and no apt-get: install $*"
  [[ $(id -u) == 0 ]] || sudo=(sudo)
  note "installing Debian's $*"
  "${sudo[@]}" apt-get update -qq >"$scratch/apt.log" 2>&1 || tail -n 5 "$scratch/apt.log" >&2 # what it has may do
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" \
    >"$scratch/apt.log" 2>&1 || {
    tail -n 20 "$scratch/apt.log" >&2
    die "$* can't be installed: install $command yourself"
  }
}

scratch=$(mktemp -d)
container=
engine=

clean_up() {
  local status=$?
  if [[ -n $container ]]; then
    if ((status != 0)); then
      printf '\nThe last lines of the container:\n' >&2
      "$engine" logs --tail 40 "$container" >&2 || true
    fi
    "$engine" rm --force --volumes "$container" >/dev/null 2>&1 || true
  fi
  if [[ -n $engine && ${KEEP:-} != 1 ]]; then
    "$engine" image rm --force "$IMAGE" >/dev/null 2>&1 || true
  fi
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- what there is to work with -----------------------------------------------------------------------------------

step 'Looking for an engine'
# A sandbox may forbid namespaces or mounts, which every engine needs. Without this check, the build would show it late.
if [[ -z ${ENGINE:-} || ${ENGINE:-} == podman ]] && ! docker info >/dev/null 2>&1; then
  probe=(unshare --mount --pid --fork --map-root-user sh -c 'mount -t tmpfs tmpfs /mnt')
  [[ $(id -u) == 0 ]] && probe=(unshare --mount --pid --fork sh -c 'mount -t tmpfs tmpfs /mnt')
  refused=$("${probe[@]}" 2>&1) || die "this machine can't run containers, so the image can't be tested here: $refused"
fi
if ! engine=$(python3 deploy/image.py engine); then
  [[ " ${ENGINE:-podman} " == *' podman '* ]] || die 'no engine works on this machine'
  # runc, since crun refuses cgroups of version 1. The other packages are networks, and a list of registries.
  install podman podman runc containernetworking-plugins golang-github-containers-common
  engine=$(python3 deploy/image.py engine)
fi
note "$("$engine" --version)"

run_options=()
if [[ $("$engine" --version) == *podman* ]]; then # which may also answer to the name of docker
  run_options+=(--read-only-tmpfs=false)
  # Podman asks for more open files and processes than a confined root may grant, and leaves health checks to systemd.
  run_options+=(--ulimit nofile=4096:4096 --ulimit nproc=1024:1024)
  [[ -d /run/systemd/system ]] || run_options+=(--no-healthcheck)
fi

# --- the build ----------------------------------------------------------------------------------------------------

step 'Building'
[[ -n ${BASE:-} ]] || install debootstrap debootstrap # for a machine that can't pull the base image
start=$(milliseconds)
python3 deploy/image.py build --stand-in --tag "$IMAGE" --sbom "$scratch/sbom.json" >"$scratch/build.log" || die 'the build'
base=$(sed -n 's/^base image: //p' "$scratch/build.log")
note "built from $base in $(seconds_since "$start")"
inspect_image() { "$engine" image inspect --format "$1" "$IMAGE"; }
mebibytes() { echo "$((($1 + 524288) / 1048576)) MiB"; }
note "$IMAGE: $(mebibytes "$(inspect_image '{{.Size}}')"), of which the base: $(mebibytes "$("$engine" image inspect --format '{{.Size}}' "$base")")"
[[ $(inspect_image '{{.Config.User}}') == 10001:10001 ]] || die "the image's user is $(inspect_image '{{.Config.User}}')"
python3 deploy/image_test_contents.py "$engine" "$IMAGE" "$scratch/sbom.json" || die 'the contents'

# --- the run ------------------------------------------------------------------------------------------------------

step "Starting it: $MEMORY_MIB MiB, read-only, no capabilities, no new privileges"
start=$(milliseconds)
container=$("$engine" run --detach \
  --publish 127.0.0.1::8000 \
  --read-only --cap-drop ALL --security-opt no-new-privileges \
  --memory "${MEMORY_MIB}m" --memory-swap "${MEMORY_MIB}m" --pids-limit 128 \
  "${run_options[@]}" "$IMAGE")
address=$("$engine" port "$container" 8000/tcp | head -n 1)
url=http://127.0.0.1:${address##*:}

client() { python3 deploy/image_test_client.py "$1" "$url" "${@:2}"; }
inside() { "$engine" exec "$container" "$@"; }

client wait_until_ready "$READY_SECONDS"
note "ready in $(seconds_since "$start") at $url"

step 'Looking at its confinement, from inside'
# shellcheck disable=SC2016 # Python, not Bash
inside python -IS -c '
import errno, os, pathlib, sys

def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"FAILED: {what}: {got}, not {wanted}")
    print(f"    {what}: {got}")

def first_of(*paths):
    return next(path.read_text().strip() for path in map(pathlib.Path, paths) if path.exists())

status = dict(line.split(":\t", 1) for line in pathlib.Path("/proc/1/status").read_text().splitlines())
expect("uid of process 1", status["Uid"].split()[0], "10001")
expect("gid of process 1", status["Gid"].split()[0], "10001")
expect("CapEff", status["CapEff"].strip(), "0" * 16)
expect("CapBnd", status["CapBnd"].strip(), "0" * 16)
expect("NoNewPrivs", status["NoNewPrivs"].strip(), "1")
expect("Seccomp (2: a filter)", status["Seccomp"].strip(), "2")
root = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if line.split()[4] == "/"]
expect("root file system", root[-1][5].split(",")[0], "ro")
for path in "/", "/tmp", "/opt/axiscast", "/var/tmp":
    try:
        os.open(path + "/probe", os.O_CREAT | os.O_WRONLY)
        error = "none"
    except OSError as failed:
        error = errno.errorcode[failed.errno]
    expect("error on writing to " + path, error, "EROFS")
expect("memory limit in MiB", int(first_of("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")) >> 20, int(sys.argv[1]))
' "$MEMORY_MIB" || die 'the confinement'

memory() {
  inside python -IS -c '
import pathlib
status = dict(line.split(":\t", 1) for line in pathlib.Path("/proc/1/status").read_text().splitlines())
paths = map(pathlib.Path, ["/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes"])
total = next(int(path.read_text()) >> 20 for path in paths if path.exists())
resident, peak = (int(status[name].split()[0]) >> 10 for name in ("VmRSS", "VmHWM"))
print(f"process 1: {resident} MiB resident, {peak} MiB at most; the container: {total} MiB")
'
}
note "$(memory)"
inside python -c 'import pip' 2>/dev/null && die 'pip is in the image'

step "Running the image's health check"
healthcheck=$(inspect_image '{{range .Config.Healthcheck.Test}}{{println .}}{{end}}')
[[ $healthcheck == CMD$'\n'* ]] || die "no health check in exec form: $healthcheck"
mapfile -t healthcheck <<<"${healthcheck#CMD$'\n'}"
start=$(milliseconds)
inside "${healthcheck[@]}" || die 'the health check'
note "${healthcheck[*]}: healthy, in $(seconds_since "$start")"
inside env AXISCAST_PORT=1 "${healthcheck[@]}" 2>/dev/null && die 'the health check finds a service where none is'

step 'Asking it'
client check_answers
client check_stream $((2 * MEMORY_MIB))
note "$(memory)"

step "Besieging it: everything at once that holds memory, for $SIEGE_SECONDS seconds"
python3 deploy/siege.py "$url" --seconds "$SIEGE_SECONDS" >"$scratch/siege.json" || {
  cat "$scratch/siege.json" >&2
  die 'the siege'
}
note "probes answered throughout, the slowest in $(sed -n 's/.*"longest probe": \([0-9.]*\).*/\1/p' "$scratch/siege.json") s"
note "$(memory)"

step 'Stopping it'
start=$(milliseconds)
"$engine" stop --time "$STOP_SECONDS" "$container" >/dev/null &
client check_drain
wait $!
note "stopped in $(seconds_since "$start")"
state=$("$engine" inspect --format '{{.State.ExitCode}} {{.State.OOMKilled}}' "$container")
[[ $state == '0 false' || $state == '143 false' ]] || die "exit code and out of memory: $state (137: it had to be killed)"
note "exit code ${state% *}"

printf '\nThe image passes.\n'
