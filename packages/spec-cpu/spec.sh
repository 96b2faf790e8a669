# Read by the scripts in this folder: enters the suite that `env` names, and comes back.
mkdir -p spec-bench
: "${SPEC_ROOT:?put the folder of your SPEC CPU installation into env}"
: "${SPEC_CONFIG:?put the name of your configuration into env}"
: "${SPEC_BENCHMARK:?put the name of one benchmark into env}"
case ${SPEC_SUITE:?put 2006 or 2017 into env} in
2006) SPEC_TOOL=runspec ;;
2017) SPEC_TOOL=runcpu ;;
*)
    echo "SPEC_SUITE in env is $SPEC_SUITE; it can be 2006 or 2017" >&2
    exit 2
    ;;
esac
if [ ! -f "$SPEC_ROOT/shrc" ]; then
    echo "SPEC_ROOT in env is $SPEC_ROOT, where there is no SPEC CPU installation (no file shrc)" >&2
    echo "Trials see no home folders, /tmp and what not everybody may read. If it is there, add" >&2
    echo "    folders = [\"$SPEC_ROOT\"]" >&2
    echo "to the [[package]] in the experiment file; on a fleet the owners of machines allow it." >&2
    exit 2
fi
SPEC_OPTIONS=${SPEC_OPTIONS:-}
package=$PWD
# The suite's own shrc is not written for shells that stop at unset variables, and must be read in its folder.
set +u
cd "$SPEC_ROOT"
. ./shrc
cd "$package"
