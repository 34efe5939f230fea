// An application on Rascal with two workers: the one of saves tries again after a delay, by a queue that expires and
// keys in CC, then rejects; the one of deletes republishes its failures to its own queue, which rejects them unseen.
//
//   node rascal.js version
//   node rascal.js setup    declares everything
//   node rascal.js send N   publishes N users, in turn to be saved and to be deleted
//   node rascal.js work     handles them until it is ended: all fail, or, with OK=1, all succeed
const rascal = require('rascal');

const deadLetters = () => ({
  options: {
    arguments: { 'x-dead-letter-exchange': 'dead_letters', 'x-dead-letter-routing-key': 'registration.dead_letter' },
  },
});

// Rascal checks and creates the vhost over the management API; it is there already, so only the connection is named.
const vhost = {
  connection: { url: process.env.AMQP_URL },
  exchanges: ['service', 'delay', 'retry', 'dead_letters'],
  queues: {
    'registration:user:save': deadLetters(),
    'registration:user:delete': deadLetters(),
    'delay:5s': { options: { arguments: { 'x-message-ttl': 5000, 'x-dead-letter-exchange': 'retry' } } },
    'dead_letters:registration': {},
  },
  bindings: {
    'service[user.created.#] -> registration:user:save': {},
    'service[user.deleted.#] -> registration:user:delete': {},
    'delay[delay.5s] -> delay:5s': {},
    'retry[registration:user:save.#] -> registration:user:save': {},
    'dead_letters[registration.dead_letter] -> dead_letters:registration': {},
  },
  subscriptions: {
    save: { queue: 'registration:user:save' },
    remove: { queue: 'registration:user:delete' },
  },
  publications: {
    event: { exchange: 'service' },
    retry_in_5s: { exchange: 'delay', options: { CC: ['delay.5s'] } },
  },
};

const failures = {
  save: {
    error: Object.assign(new Error('connect ETIMEDOUT db:5432'), { code: 'ETIMEDOUT' }),
    recovery: [
      { strategy: 'forward', attempts: 2, publication: 'retry_in_5s', xDeathFix: true },
      { strategy: 'nack' },
    ],
  },
  remove: {
    error: Object.assign(new Error('invalid user id'), { code: 'EINVALID' }),
    recovery: [{ strategy: 'republish', immediateNack: true }],
  },
};

async function send(broker, n) {
  for (let i = 0; i < n; i++) {
    const key = i % 2 === 0 ? 'user.created.bob' : 'user.deleted.bob';
    const publication = await broker.publish('event', { user: i }, key);
    await new Promise((done, failed) => publication.on('success', done).on('error', failed));
  }
}

async function work(broker) {
  for (const name of Object.keys(failures)) {
    const subscription = await broker.subscribe(name);
    subscription.on('error', (e) => console.error(e.message));
    subscription.on('message', (message, user, acknowledge) => {
      if (process.env.OK) {
        console.log('PROCESSED', user.user);
        return acknowledge();
      }
      console.log('FAILED', user.user);
      acknowledge(failures[name].error, failures[name].recovery);
    });
  }
  await new Promise((stop) => process.on('SIGTERM', stop));
}

async function main([mode, n]) {
  if (mode === 'version') {
    return console.log('rascal', require('rascal/package.json').version);
  }
  const name = decodeURIComponent(new URL(process.env.AMQP_URL).pathname.slice(1));
  const broker = await rascal.BrokerAsPromised.create(rascal.withDefaultConfig({ vhosts: { [name]: vhost } }));
  broker.on('error', (e) => console.error(e.message));
  if (mode === 'send') await send(broker, Number(n));
  if (mode === 'work') await work(broker);
  await broker.shutdown();
}

main(process.argv.slice(2)).catch((e) => {
  console.error(e);
  process.exit(1);
});
