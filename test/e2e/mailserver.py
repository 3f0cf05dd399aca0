"""mailserver.py - the far side of an email channel: a real SMTP server that records and answers as told.

Plain sockets, so that it can do what no proper server does: refuse, dawdle, hang up half-way, talk
nonsense. A step is one of: greeting ehlo starttls auth mail rcpt data end quit.
"""
import base64
import collections
import email
import email.policy
import socket
import ssl
import threading
from typing import NamedTuple

from process import PATIENCE

USUAL = {"greeting": "220 mail.test ESMTP", "starttls": "220 go ahead", "auth": "235 welcome",
         "mail": "250 sender ok", "rcpt": "250 recipient ok", "data": "354 go on",
         "end": "250 2.0.0 Ok: queued as Q{number}", "quit": "221 bye"}


class Received(NamedTuple):
    sender: str
    recipients: list
    bytes: bytes
    options: list   # of MAIL
    is_tls: bool
    user: str
    session: int    # the connection's number

    @property
    def mail(self):
        return email.message_from_bytes(self.bytes.replace(b"\r\n", b"\n"), policy=email.policy.default)


class Answer(NamedTuple):
    step: str
    text: str = ""                 # empty: as usual
    about: str = None              # only for this address
    hold: threading.Event = None   # said only when it is set
    drop: str = None               # "before" the answer, or "after" it


class MailServer:
    """Takes all mail until told otherwise.

    answer(step, text, …) holds until forget(); answer_next(…) is used up by one command.
    """

    def __init__(self, certificate=None, implicit_tls=False, login=None, offers=("PIPELINING", "SIZE 10000000")):
        self.changed = threading.Condition()
        self.received, self.commands, self.logins = [], [], []
        self.stalled = 0  # how often something was held
        self.usual, self.upcoming = [], collections.deque()
        self.sessions = 0
        self.login, self.offers = login, list(offers)
        self.context, self.implicit_tls = None, implicit_tls
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)
        self.closing = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.url = f"{'smtps' if implicit_tls else 'smtp'}://127.0.0.1:{self.port}"
        self.open = set()
        threading.Thread(target=self.listen, daemon=True).start()

    def answer(self, step, text="", **rest):
        with self.changed:
            self.usual.insert(0, Answer(step, text, **rest))

    def answer_next(self, step, text="", **rest):
        with self.changed:
            self.upcoming.append(Answer(step, text, **rest))

    def forget(self):
        with self.changed:
            self.usual.clear()
            self.upcoming.clear()

    def wait_for(self, count, seconds=15):
        """Returns the mails received as soon as there are count of them."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.received) >= count, timeout=seconds * PATIENCE)
            if len(self.received) < count:
                raise AssertionError(f"{count} mails expected, {len(self.received)} came")
            return list(self.received)

    def wait_for_command(self, word, count=1, seconds=15):
        """Returns as soon as so many commands began with the word."""
        def seen():
            return sum(command.upper().startswith(word) for command in self.commands) >= count
        with self.changed:
            if not self.changed.wait_for(seen, timeout=seconds * PATIENCE):
                raise AssertionError(f"no {word} came: {self.commands}")

    def count(self):
        with self.changed:
            return len(self.received)

    def close(self):
        self.closing.set()
        self.listener.close()
        with self.changed:
            left = list(self.open)
        for connection in left:
            hang_up(connection)

    def listen(self):
        while not self.closing.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.changed:
                self.sessions += 1
                number = self.sessions
                self.open.add(connection)
            threading.Thread(target=self.serve, args=(connection, number), daemon=True).start()

    def serve(self, connection, number):
        try:
            Dialogue(self, connection, number).run()
        except (OSError, EOFError, ValueError):
            pass  # a sender that hangs up is part of the tests
        finally:
            with self.changed:
                self.open.discard(connection)
            hang_up(connection)

    def choose(self, step, about):
        def fits(answer):
            return answer.step == step and answer.about in (None, about)
        with self.changed:
            for answer in self.upcoming:
                if fits(answer):
                    self.upcoming.remove(answer)
                    return answer
            return next((answer for answer in self.usual if fits(answer)), Answer(step))


def hang_up(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()


class Dialogue:
    """One connection."""

    def __init__(self, server, connection, number):
        self.server, self.connection, self.number = server, connection, number
        self.is_tls, self.user, self.pending = False, None, b""
        self.forget_mail()

    def forget_mail(self):
        self.sender, self.recipients, self.options = None, [], []

    def run(self):
        if self.server.implicit_tls:
            self.secure()
        self.say("greeting")
        while True:
            line = self.line().decode("utf-8")
            with self.server.changed:
                self.server.commands.append(line)
                self.server.changed.notify_all()
            word, _, rest = line.partition(" ")
            if word.upper() == "QUIT":
                self.say("quit")
                return
            handler = getattr(self, "on_" + word.lower(), None)
            if handler:
                handler(rest)
            else:
                self.send("502 what?")

    def secure(self):
        self.connection = self.server.context.wrap_socket(self.connection, server_side=True)
        self.is_tls = True

    def line(self):
        while b"\n" not in self.pending:
            self.more()
        line, _, self.pending = self.pending.partition(b"\n")
        return line.rstrip(b"\r")

    def more(self):
        piece = self.connection.recv(65536)
        if not piece:
            raise EOFError
        self.pending += piece

    def send(self, text):
        self.connection.sendall(text.encode("utf-8", "surrogateescape") + b"\r\n")

    def stall(self, answer):
        if not answer.hold:
            return
        with self.server.changed:
            self.server.stalled += 1
        while not (answer.hold.wait(0.05) or self.server.closing.is_set()):
            pass

    def say(self, step, about=None, usual=None):
        """Answers; true where the answer is a good one."""
        answer = self.server.choose(step, about)
        self.stall(answer)
        if answer.drop == "before":
            raise EOFError
        text = answer.text or usual or USUAL[step]
        self.send(text.format(number=self.server.count() + 1))
        if answer.drop == "after":
            raise EOFError
        return text[0] in "23"

    def on_ehlo(self, _):
        offers = list(self.server.offers)
        if self.server.context and not self.is_tls:
            offers.append("STARTTLS")
        if self.server.login:
            offers.append("AUTH PLAIN LOGIN")
        lines = ["mail.test", *offers]
        self.say("ehlo", usual="\r\n".join(f"250{'-' if i < len(lines) - 1 else ' '}{text}"
                                           for i, text in enumerate(lines)))

    def on_starttls(self, _):
        if self.say("starttls"):
            self.pending = b""
            self.secure()

    def on_auth(self, rest):
        _, _, first = rest.partition(" ")
        if not first:
            self.send("334 ")
            first = self.line().decode()
        _, user, password = base64.b64decode(first).decode().split("\0")
        with self.server.changed:
            self.server.logins.append((user, password, self.is_tls))
        if (user, password) != self.server.login:
            self.say("auth", usual="535 5.7.8 authentication failed")
        elif self.say("auth"):
            self.user = user

    def on_mail(self, rest):
        address, _, options = rest.partition(":")[2].partition(">")
        if self.server.login and not self.user:
            self.send("530 5.7.0 log in first")
        elif self.say("mail", address.strip(" <")):
            self.sender, self.options = address.strip(" <"), options.split()

    def on_rcpt(self, rest):
        address = rest.partition("<")[2].partition(">")[0]
        if self.sender is None:
            self.send("503 MAIL first")
        elif self.say("rcpt", address):
            self.recipients.append(address)

    def on_rset(self, _):
        self.forget_mail()
        self.send("250 forgotten")

    def on_data(self, _):
        if not self.recipients:
            self.send("503 RCPT first")
            return
        if not self.say("data"):
            return
        while b"\r\n.\r\n" not in b"\r\n" + self.pending:
            self.more()
        text, _, self.pending = (b"\r\n" + self.pending).partition(b"\r\n.\r\n")
        mail = Received(self.sender, self.recipients, (text[2:] + b"\r\n").replace(b"\r\n..", b"\r\n."),
                        self.options, self.is_tls, self.user, self.number)
        answer = self.server.choose("end", None)
        self.forget_mail()
        self.record(mail, answer)

    def record(self, mail, answer):
        """The mail counts as taken before the answer is on its way, as it does for real servers."""
        with self.server.changed:
            number = len(self.server.received) + 1
            if not answer.text or answer.text[0] == "2":
                self.server.received.append(mail)
            self.server.changed.notify_all()
        self.stall(answer)
        if answer.drop == "before":
            raise EOFError
        self.send((answer.text or USUAL["end"]).format(number=number))
        if answer.drop == "after":
            raise EOFError
