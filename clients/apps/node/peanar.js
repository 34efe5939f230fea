// An application on Peanar: a failed job is rejected into a retry queue, which the worker declares just before; the
// last failure is published as a new message, its error in the body.
//
//   node peanar.js version
//   node peanar.js setup    declares everything
//   node peanar.js send N   publishes mails 0 to N-1
//   node peanar.js work     handles them until it is ended: all fail, or, with OK=1, all succeed
const Peanar = require('peanar');

async function handle(mail) {
  if (process.env.OK) {
    console.log('PROCESSED', mail);
    return;
  }
  console.log('FAILED', mail);
  throw new Error(`mailbox ${mail} is full`);
}

async function main([mode, n]) {
  if (mode === 'version') {
    return console.log('peanar', require('peanar/package.json').version);
  }
  const url = new URL(process.env.AMQP_URL);
  const app = new Peanar({
    connection: {
      host: url.hostname, port: Number(url.port), username: url.username, password: url.password,
      vhost: decodeURIComponent(url.pathname.slice(1)),
    },
    logger() {},
  });
  const send = app.job({
    queue: 'pn.mail', name: 'send-mail', exchange: 'pn.jobs', routingKey: 'pn.mail', handler: handle,
    max_retries: 2, retry_exchange: 'pn.retry', retry_delay: 5000, error_exchange: 'pn.dead',
  });
  await app.declareAmqResources();
  for (let i = 0; mode === 'send' && i < Number(n); i++) {
    await send(i);
  }
  if (mode === 'work') {
    await app.worker({ queues: ['pn.mail'], concurrency: 1 });
    await new Promise((stop) => process.on('SIGTERM', stop));
  }
  await app.shutdown(2000);
  process.exit(0);
}

main(process.argv.slice(2)).catch((e) => {
  console.error(e);
  process.exit(1);
});
