"""An application on pika: orders wait 5 s in a queue that expires into the worker's, which rejects failures to a third.

  python3 pika_app.py version
  python3 pika_app.py setup    declares everything
  python3 pika_app.py send N   publishes orders 0 to N-1
  python3 pika_app.py work     handles them until it is ended: all fail, or, with OK=1, all succeed
"""

import json
import os
import sys

import pika


def declare(channel):
    channel.exchange_declare('RetryExchange', 'fanout', durable=True)
    channel.queue_declare('FailedQueue', durable=True)
    channel.queue_declare('RetryQueue', durable=True, arguments={
        'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'FailedQueue'})
    channel.queue_bind('RetryQueue', 'RetryExchange')
    channel.queue_declare('test-delay', durable=True, arguments={
        'x-message-ttl': 5000, 'x-dead-letter-exchange': 'RetryExchange'})


def send(channel, n):
    channel.confirm_delivery()
    for order in range(n):
        channel.basic_publish('', 'test-delay', json.dumps({'order': order}), pika.BasicProperties(
            content_type='application/json', delivery_mode=2))


def handle(channel, method, properties, body):
    order = json.loads(body)['order']
    if os.environ.get('OK'):
        print('PROCESSED', order, flush=True)
        channel.basic_ack(method.delivery_tag)
        return
    print('FAILED', order, flush=True)
    channel.basic_reject(method.delivery_tag, requeue=False)


def main(mode, n=0):
    if mode == 'version':
        print('pika', pika.__version__)
        return
    connection = pika.BlockingConnection(pika.URLParameters(os.environ['AMQP_URL']))
    channel = connection.channel()
    declare(channel)
    if mode == 'send':
        send(channel, int(n))
    if mode == 'work':
        channel.basic_qos(prefetch_count=5)
        channel.basic_consume('RetryQueue', handle)
        channel.start_consuming()
    connection.close()


if __name__ == '__main__':
    main(*sys.argv[1:])
