# getenforce
v=1
read -r v <"${ORCH_ROOT-}/sys/fs/selinux/enforce" || :
if [ "$v" = 1 ]; then echo Enforcing; else echo Permissive; fi
