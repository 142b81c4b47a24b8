# The agent must hear that this has worked before the guest goes down.
if command -v shutdown >/dev/null 2>&1; then
	reboot='shutdown -r now'
elif command -v reboot >/dev/null 2>&1; then
	reboot=reboot
else
	echo 'the guest has neither shutdown nor reboot' >&2
	exit 1
fi
(sleep 1; exec $reboot) </dev/null >/dev/null 2>&1 &
