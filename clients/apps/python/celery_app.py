"""An application on Celery: late acknowledgement, two retries after 5 s each, then a reject to a dead-letter queue.
Its worker holds what is to be retried; with a quorum queue it waits in the 28 queues of Celery's native delay (5.5).

  python3 celery_app.py version
  python3 celery_app.py setup    declares everything
  python3 celery_app.py send N   sends tasks 0 to N-1
  python3 celery_app.py work     handles them until it is ended: all fail, or, with OK=1, all succeed

QUORUM=1       the worker's queue is a quorum queue, behind a topic exchange
DELAY=S        retries after S seconds instead of 5
RETRIES=N      tries each task N times more instead of 2
EXPIRES=S      sends tasks that are not to be run later than after S seconds
CRASH=1        the worker is killed by its first task, unacknowledged, and started again, for ever
"""

import os
import signal
import subprocess
import sys

import celery
from celery.exceptions import Reject
from kombu import Exchange, Queue

RETRIES = int(os.environ.get('RETRIES', 2))
QUORUM = bool(os.environ.get('QUORUM'))

dead = Queue('orders.dead', Exchange('celery.dlx', 'direct'), routing_key='orders.dead')
orders = Queue('orders', Exchange('orders', 'topic' if QUORUM else 'direct'), routing_key='orders', queue_arguments={
    'x-queue-type': 'quorum' if QUORUM else 'classic',
    'x-dead-letter-exchange': 'celery.dlx', 'x-dead-letter-routing-key': 'orders.dead'})

app = celery.Celery('celery_app', broker=os.environ.get('AMQP_URL'))
app.conf.update(
    worker_redirect_stdouts=False, task_queues=[orders], task_default_queue='orders', task_default_exchange='orders',
    task_default_exchange_type=orders.exchange.type, task_default_routing_key='orders', task_acks_late=True,
    worker_prefetch_multiplier=1, broker_connection_max_retries=3)


@app.task(bind=True, name='shop.charge')
def charge(self, order):
    if os.environ.get('OK'):
        print('PROCESSED', order, flush=True)
        return
    print('FAILED', order, flush=True)
    if os.environ.get('CRASH'):
        os.kill(os.getpid(), signal.SIGKILL)
    error = ConnectionError('smtp.example:25 refused')
    if self.request.retries >= RETRIES:
        raise Reject(error, requeue=False)
    raise self.retry(exc=error, countdown=int(os.environ.get('DELAY', 5)), max_retries=RETRIES)


def main(mode, n=0):
    if mode == 'version':
        print('celery', celery.__version__)
    elif mode == 'setup':
        with app.connection() as connection:
            for queue in (orders, dead):
                queue(connection.default_channel).declare()
    elif mode == 'send':
        for order in range(int(n)):
            expires = os.environ.get('EXPIRES')
            charge.apply_async((order,), expires=float(expires) if expires else None)
    elif mode == 'work' and os.environ.get('CRASH'):
        while True:
            subprocess.call([sys.executable, __file__, 'worker'])
    else:
        app.worker_main(['worker', '-Q', 'orders', '-P', 'solo', '-l', 'ERROR', '--without-gossip',
                         '--without-mingle'])


if __name__ == '__main__':
    main(*sys.argv[1:])
