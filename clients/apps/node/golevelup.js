// An application on golevelup/nestjs-rabbitmq: a handler whose failures are rejected to a queue of dead letters.
//
//   node golevelup.js version
//   node golevelup.js setup    declares everything
//   node golevelup.js send N   publishes orders 0 to N-1
//   node golevelup.js work     handles them until it is ended: all fail, or, with OK=1, all succeed; with LOOP=1 the
//                              handler asks for each to be requeued, and has it again after 50 ms, for ever
require('reflect-metadata');
const { AmqpConnection, MessageHandlerErrorBehavior, Nack } = require('@golevelup/nestjs-rabbitmq');

const quiet = { log() {}, debug() {}, verbose() {}, warn: console.error, error: console.error };

async function connect() {
  const connection = new AmqpConnection({
    name: 'shop',
    uri: process.env.AMQP_URL,
    exchanges: [{ name: 'shop', type: 'topic' }, { name: 'shop.dlx', type: 'topic' }],
    queues: [{ name: 'shop.order.dlq', exchange: 'shop.dlx', routingKey: '#' }],
    connectionInitOptions: { wait: true, timeout: 20000 },
    prefetchCount: 2,
    logger: quiet,
  });
  await connection.init();
  return connection;
}

async function handle(order) {
  if (process.env.LOOP) {
    console.log('FAILED', order.order);
    await new Promise((again) => setTimeout(again, 50));
    return new Nack(true);
  }
  if (!process.env.OK) {
    console.log('FAILED', order.order);
    throw new Error('stripe: card declined');
  }
  console.log('PROCESSED', order.order);
}

async function subscribe(connection) {
  await connection.createSubscriber(handle, {
    exchange: 'shop',
    routingKey: 'order.created',
    queue: 'shop.order',
    queueOptions: { durable: true, deadLetterExchange: 'shop.dlx' },
    errorBehavior: MessageHandlerErrorBehavior.NACK,
  }, 'order');
}

async function main([mode, n]) {
  if (mode === 'version') {
    return console.log('nestjs-rabbitmq', require('@golevelup/nestjs-rabbitmq/package.json').version);
  }
  const connection = await connect();
  if (mode === 'setup' || mode === 'work') await subscribe(connection);
  for (let i = 0; mode === 'send' && i < Number(n); i++) {
    await connection.publish('shop', 'order.created', { order: i }, { messageId: `o${i}`, headers: { tenant: 'acme' } });
  }
  if (mode === 'work') await new Promise((stop) => process.on('SIGTERM', stop));
  await connection.close();
}

main(process.argv.slice(2)).catch((e) => {
  console.error(e);
  process.exit(1);
});
