// An application on Moleculer: requests and events over queues of its own, with TTLs and without dead lettering, by
// design: what is not taken in time is of no use any more.
//
//   node moleculer.js version
//   node moleculer.js setup    declares nothing: the library does at its start
//   node moleculer.js send N   calls an action with charges 0 to N-1, and prints nothing
//   node moleculer.js work     answers them until it is ended: all fail, or, with OK=1, all succeed
const { ServiceBroker } = require('moleculer');

const pay = {
  name: 'pay',
  actions: {
    charge(ctx) {
      if (process.env.OK) {
        console.log('PROCESSED', ctx.params.n);
        return 'ok';
      }
      console.log('FAILED', ctx.params.n);
      throw new Error('card declined');
    },
  },
};

async function main([mode, n]) {
  if (mode === 'version') {
    return console.log('moleculer', ServiceBroker.MOLECULER_VERSION);
  }
  if (mode === 'setup') return;
  const broker = new ServiceBroker({
    nodeID: mode, logger: false, disableBalancer: true,
    transporter: { type: 'AMQP', options: { url: process.env.AMQP_URL, eventTimeToLive: 5000, heartbeatTimeToLive: 5000 } },
  });
  if (mode === 'work') broker.createService(pay);
  await broker.start();
  if (mode === 'send') {
    await broker.waitForServices('pay', 30000);
    for (let i = 0; i < Number(n); i++) {
      await broker.call('pay.charge', { n: i }).catch(() => {});
    }
  } else {
    await new Promise((stop) => process.on('SIGTERM', stop));
  }
  await broker.stop();
}

main(process.argv.slice(2)).then(() => process.exit(0), (e) => {
  console.error(e);
  process.exit(1);
});
