// An application on BunnyBus: a worker that gives failures back to the end of its queue, counted in a header; after
// three tries, or when the worker rejects, BunnyBus publishes them into an error queue with the reason.
//
//   node bunnybus.js version
//   node bunnybus.js setup    declares everything
//   node bunnybus.js send N   publishes orders 0 to N-1
//   node bunnybus.js work     handles them until it is ended: all fail, or, with OK=1, all succeed
//
// BunnyBus finds the handler by the key, or by `event` in the body. With KEY=1 the body has none, and one key is bound.
// A message without a handler is acknowledged unseen.
const BunnyBus = require('bunnybus');

const QUEUE = 'bb.orders';

function connect() {
  const url = new URL(process.env.AMQP_URL);
  const bus = new BunnyBus({
    hostname: url.hostname, port: Number(url.port), username: url.username, password: url.password,
    vhost: url.pathname.slice(1), globalExchange: 'bb.events', maxRetryCount: 2, connectionRetryCount: 2,
  });
  bus.logger = { debug() {}, info() {}, warn() {}, error: console.error, fatal: console.error, trace() {} };
  return bus;
}

async function handle(order, meta, acknowledge, reject, requeue) {
  if (process.env.OK) {
    console.log('PROCESSED', order.order);
    return acknowledge();
  }
  console.log('FAILED', order.order);
  if (order.order % 2 === 1) {
    return reject({ reason: `order ${order.order} has no customer` });
  }
  return requeue();
}

async function main([mode, n]) {
  if (mode === 'version') {
    return console.log('bunnybus', require('bunnybus/package.json').version);
  }
  const bus = connect();
  const keys = process.env.KEY ? ['order.created'] : ['order.created', 'order.changed'];
  const handlers = Object.fromEntries(keys.map((key) => [key, handle]));
  if (mode === 'setup') {
    await bus.createExchange('bb.events', 'topic');
    await bus.createQueue(`${QUEUE}_error`);
    await bus.subscribe(QUEUE, handlers);
    await bus.unsubscribe(QUEUE);
  }
  if (mode === 'send') {
    for (let i = 0; i < Number(n); i++) {
      const order = process.env.KEY ? { order: i } : { event: 'order.created', order: i };
      await bus.publish(order, { routeKey: 'order.created', source: 'shop' });
    }
  }
  if (mode === 'work') {
    await bus.subscribe(QUEUE, handlers, { meta: true });
    await new Promise((stop) => process.on('SIGTERM', stop));
  }
  process.exit(0);
}

main(process.argv.slice(2)).catch((e) => {
  console.error(e);
  process.exit(1);
});
