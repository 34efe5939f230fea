"""An application on Qpid Proton, AMQP 1.0: jobs of several kinds of bodies in a quorum queue, which rejects failures.

  python3 proton_app.py version
  python3 proton_app.py setup    declares everything
  python3 proton_app.py send N   publishes jobs 0 to N-1
  python3 proton_app.py work     handles them until it is ended: all fail, or, with OK=1, all succeed

RabbitMQ 4.0 and newer: addresses are as there.
"""

import os
import signal
import sys
from urllib.parse import unquote, urlparse

import pika
import proton
from proton import Condition, Delivery, Message, int32, symbol, timestamp, ulong
from proton.handlers import MessagingHandler
from proton.reactor import Container


def declare():
    connection = pika.BlockingConnection(pika.URLParameters(os.environ['AMQP_URL']))
    channel = connection.channel()
    channel.exchange_declare('qp.dlx', 'topic', durable=True)
    channel.queue_declare('qp.jobs', durable=True, arguments={
        'x-queue-type': 'quorum', 'x-dead-letter-exchange': 'qp.dlx'})
    channel.queue_declare('qp.dead', durable=True)
    channel.queue_bind('qp.dead', 'qp.dlx', '#')
    connection.close()


def job(i):
    body = ['text', {'a': 1, 'b': ['x', True, None]}, [1, 'three'], b'binary', 12345678901, 1.5][i % 6]
    message = Message(body=body, id=f'job-{i}', subject=str(i), durable=True, correlation_id=ulong(i))
    message.properties = {'tenant': 'acme', 'n': i, 'big': ulong(2**40), 'at': timestamp(1700000000000), 'f': 1.5}
    message.annotations = {symbol('x-opt-shard'): 'eu', symbol('x-opt-hops'): int32(3)}
    return message


class App(MessagingHandler):
    def __init__(self, sends=0):
        super().__init__(auto_accept=False)
        self.sends, self.sent, self.settled = sends, 0, 0

    def on_start(self, event):
        url = urlparse(os.environ['AMQP_URL'])
        self.connection = event.container.connect(
            f'amqp://{url.username}:{url.password}@{url.hostname}:{url.port}', sasl_enabled=True,
            allowed_mechs='PLAIN', allow_insecure_mechs=True, virtual_host='vhost:' + unquote(url.path[1:]))
        if self.sends:
            event.container.create_sender(self.connection, '/queues/qp.jobs')
        else:
            event.container.create_receiver(self.connection, '/queues/qp.jobs')

    def on_sendable(self, event):
        while self.sent < self.sends and event.sender.credit:
            event.sender.send(job(self.sent))
            self.sent += 1

    def on_settled(self, event):
        self.settled += 1
        if self.sends and self.settled == self.sends:
            self.connection.close()

    def on_message(self, event):
        n = event.message.properties['n']
        if os.environ.get('OK'):
            print('PROCESSED', n, flush=True)
            event.delivery.update(Delivery.ACCEPTED)
        else:
            print('FAILED', n, flush=True)
            event.delivery.local.condition = Condition('app:card-declined', 'card declined: 4002')
            event.delivery.update(Delivery.REJECTED)
        event.delivery.settle()

    def on_transport_error(self, event):
        sys.exit(str(event.transport.condition))

    def on_link_error(self, event):
        sys.exit(str(event.link.remote_condition))


def main(mode, n=0):
    if mode == 'version':
        print('qpid-proton', '.'.join(map(str, (proton.VERSION_MAJOR, proton.VERSION_MINOR))))
    if mode == 'setup':
        declare()
    if mode == 'send':
        Container(App(int(n))).run()
    if mode == 'work':
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        Container(App()).run()


if __name__ == '__main__':
    main(*sys.argv[1:])
