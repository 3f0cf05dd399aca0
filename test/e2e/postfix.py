"""postfix.py - Debian's Postfix, with a configuration, a queue and a port of its own."""
import os
import pathlib
import shutil
import subprocess

from harness import Skip
from postgres import free_port

MASTER = """\
127.0.0.1:{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
virtual unix - n n - - virtual
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
tlsmgr unix - - n 1000? 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
"""
MAIN = """\
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
mail_owner = postfix
setgid_group = postdrop
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mail.test
mydestination =
mynetworks = 127.0.0.0/8
smtputf8_enable = yes
virtual_mailbox_domains = example.net
virtual_mailbox_base = {folder}/boxes
virtual_mailbox_maps = texthash:{folder}/users
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
smtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination
smtpd_reject_unlisted_recipient = yes
smtpd_tls_security_level = may
smtpd_tls_cert_file = {certificate}
smtpd_tls_key_file = {key}
"""


class Postfix:
    """Takes mail for the users of example.net into Maildirs."""

    def __init__(self, folder, users, certificate, key):
        if os.geteuid() != 0 or not shutil.which("postfix"):
            raise Skip("Postfix is not there, or may only be started by root")
        self.folder = pathlib.Path(folder) / "postfix"
        self.port = free_port()
        self.url = f"smtp://127.0.0.1:{self.port}"
        for name in ("queue", "data", "boxes"):
            (self.folder / name).mkdir(parents=True)
        pathlib.Path(folder).chmod(0o755)  # its daemons are not root
        shutil.chown(self.folder / "data", "postfix")
        os.chown(self.folder / "boxes", 65534, 65534)
        (self.folder / "users").write_text("".join(f"{user}@example.net {user}/\n" for user in users))
        (self.folder / "main.cf").write_text(
            MAIN.format(folder=self.folder, certificate=certificate, key=key))
        (self.folder / "master.cf").write_text(MASTER.format(port=self.port))
        self.run("start")

    def run(self, command):
        done = subprocess.run(["postfix", "-c", str(self.folder), command], capture_output=True, text=True)
        if command == "start" and done.returncode != 0:
            raise AssertionError(f"Postfix did not start: {done.stderr}{self.log()}")

    def log(self):
        file = self.folder / "log"
        return file.read_text() if file.exists() else ""

    def box(self, user):
        """The mails that a user has, as bytes."""
        return [file.read_bytes() for file in (self.folder / "boxes" / user / "new").glob("*")]

    def close(self):
        self.run("stop")
