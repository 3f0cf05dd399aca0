"""hostile.py - far sides that mean no good: whatever bytes a script says, over plain sockets or TLS.

A script is called with the connection, in a thread of its own; when it returns, the connection is
closed. The functions here make scripts, for HTTP and for SMTP.
"""
import socket
import ssl
import struct
import threading


class Hostile:
    """Runs its script for every connection, and counts them."""

    def __init__(self, script, certificate=None, scheme="http"):
        self.script, self.connections = script, 0
        self.closing = threading.Event()
        self.context = context_of(certificate) if certificate else None
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"{scheme}://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while not self.closing.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            with connection:
                line = Line(connection, self.closing)
                if self.context:
                    line.secure(self.context)
                self.script(line)
        except (OSError, EOFError):
            pass  # whoever hangs up on it is right

    def close(self):
        self.closing.set()
        self.listener.close()


def context_of(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


class Line:
    """A connection, and what was read of it and not used."""

    def __init__(self, connection, closing):
        self.connection, self.closing, self.pending = connection, closing, b""

    def until(self, mark):
        """What comes up to the mark, with it."""
        while mark not in self.pending:
            piece = self.connection.recv(65536)
            if not piece:
                raise EOFError
            self.pending += piece
        head, _, self.pending = self.pending.partition(mark)
        return head + mark

    def send(self, data):
        self.connection.sendall(data)

    def for_ever(self, data, pause=0):
        """Sends the same again and again, until the other side has had enough."""
        while not self.closing.wait(pause):
            self.send(data)

    def secure(self, context):
        self.pending = b""
        self.connection = context.wrap_socket(self.connection, server_side=True)

    def hang(self):
        self.closing.wait()

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


# HTTP


def asked(line):
    """Waits for the head of a request."""
    return line.until(b"\r\n\r\n")


def says(*pieces):
    """Reads a request and says this."""
    def script(line):
        asked(line)
        for piece in pieces:
            line.send(piece)
    return script


def says_then(data, then):
    def script(line):
        asked(line)
        line.send(data)
        then(line)
    return script


def answers(status, *headers, body=b""):
    head = [f"HTTP/1.1 {status} so", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return says("\r\n".join([*head, "", ""]).encode() + body)


def drips(data, pause):
    """Says it byte by byte."""
    def script(line):
        asked(line)
        for at in range(len(data)):
            if line.closing.wait(pause):
                return
            line.send(data[at:at + 1])
    return script


# SMTP: what is said at each step instead of the usual; a value may be a script.

USUAL = {"greeting": b"220 mail.test ESMTP\r\n", "EHLO": b"250-mail.test\r\n250 PIPELINING\r\n",
         "MAIL": b"250 ok\r\n", "RCPT": b"250 ok\r\n", "DATA": b"354 go on\r\n", "dot": b"250 taken\r\n",
         "RSET": b"250 ok\r\n", "QUIT": b"221 bye\r\n", "AUTH": b"235 welcome\r\n"}


def speaks(heard=None, **steps):
    """A mail server that is usual but for these steps; what it hears is added to a list."""
    said = {**USUAL, **steps}

    def say(line, step):
        if callable(said[step]):
            said[step](line)
        else:
            line.send(said[step])

    def script(line):
        say(line, "greeting")
        while True:
            command = line.until(b"\r\n").decode("latin-1")
            word = command.split()[0].upper()
            if heard is not None:
                heard.append(command)
            say(line, word)
            if word == "QUIT":
                return
            if word == "DATA":
                line.until(b"\r\n.\r\n")
                say(line, "dot")
    return script
