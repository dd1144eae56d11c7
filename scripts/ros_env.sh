# Source this (bash or zsh): the shell then has .venv, ROS 2 and the built package.
#
#     . scripts/ros_env.sh
#
# DDS stays on this machine unless ROS_AUTOMATIC_DISCOVERY_RANGE is set beforehand.

_vlkng_root="$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")/.." && pwd)"

if [ ! -f "$_vlkng_root/.ros/install/setup.sh" ]; then
  echo "vlkng_ros: nothing is built in $_vlkng_root/.ros; run: make setup" >&2
  unset _vlkng_root
  return 1 2>/dev/null || exit 1
fi

_vlkng_put_first() {  # NAME FOLDER: FOLDER at the front of the path list NAME, once
  eval "_vlkng_old=\":\${$1:-}:\""
  _vlkng_old="${_vlkng_old//:$2:/:}"
  _vlkng_old="${_vlkng_old#:}"
  _vlkng_old="${_vlkng_old%:}"
  export "$1=$2${_vlkng_old:+:$_vlkng_old}"
}

# Wheels, unless the environment was made over a ROS of this machine.
if [ -d "$_vlkng_root/.venv/share/rosidl_runtime_c" ] || [ -d "$_vlkng_root/.venv/share/rclpy" ]; then
  _vlkng_put_first AMENT_PREFIX_PATH "$_vlkng_root/.venv"
  _vlkng_put_first CMAKE_PREFIX_PATH "$_vlkng_root/.venv"
  for _vlkng_libs in "$_vlkng_root"/.venv/lib/python3.*/site-packages/ros_*.libs; do
    [ -d "$_vlkng_libs" ] && _vlkng_put_first LD_LIBRARY_PATH "$_vlkng_libs"
  done
  _vlkng_put_first LD_LIBRARY_PATH "$_vlkng_root/.venv/lib"
  # LD_LIBRARY_PATH is right: the wheels need not start each python twice to set it.
  export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
fi

_vlkng_put_first AMENT_PREFIX_PATH "$_vlkng_root/.ros/install"
_vlkng_put_first CMAKE_PREFIX_PATH "$_vlkng_root/.ros/install"
_vlkng_put_first LD_LIBRARY_PATH "$_vlkng_root/.ros/install/lib"
for _vlkng_libs in "$_vlkng_root"/.ros/install/lib/python3.*/site-packages; do
  [ -d "$_vlkng_libs" ] && _vlkng_put_first PYTHONPATH "$_vlkng_libs"
done
# The sources come before their links in the overlay, so that a file made since the last build is seen too.
_vlkng_put_first PYTHONPATH "$_vlkng_root"
_vlkng_put_first PATH "$_vlkng_root/.venv/bin"
export VIRTUAL_ENV="$_vlkng_root/.venv"
export ROS_AUTOMATIC_DISCOVERY_RANGE="${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}"

unset -f _vlkng_put_first
unset _vlkng_root _vlkng_old _vlkng_libs
