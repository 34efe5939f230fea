// An application on rabbit-queue: its handler tries again in memory, then the message is published into a dead-letter
// queue with the error, as a table in a header.
//
//   node rabbitqueue.js version
//   node rabbitqueue.js setup    declares everything
//   node rabbitqueue.js send N   publishes jobs 0 to N-1
//   node rabbitqueue.js work     handles them until it is ended: all fail, or, with OK=1, all succeed
const { Rabbit, BaseQueueHandler } = require('rabbit-queue');

const QUEUE = 'rq_jobs';

class Jobs extends BaseQueueHandler {
  handle({ event }) {
    if (process.env.OK) {
      console.log('PROCESSED', event.job);
      return;
    }
    console.log('FAILED', event.job);
    throw new TypeError('card declined: 4002');
  }
}

async function main([mode, n]) {
  if (mode === 'version') {
    return console.log('rabbit-queue', require('rabbit-queue/package.json').version);
  }
  const rabbit = new Rabbit(process.env.AMQP_URL, { prefetch: 5, replyPattern: false, scheduledPublish: false, prefix: 'rq' });
  await new Promise((connected, failed) => rabbit.on('connected', connected).on('disconnected', failed));
  if (mode !== 'work') {
    await rabbit.createQueue(QUEUE, { durable: true });
    await rabbit.createQueue(`${QUEUE}_dlq`, { durable: true });
  }
  for (let i = 0; mode === 'send' && i < Number(n); i++) {
    await rabbit.publish(QUEUE, { job: i }, { messageId: `job-${i}`, persistent: true, headers: { tenant: 'acme' } });
  }
  if (mode === 'work') {
    new Jobs(QUEUE, rabbit, { retries: 2, retryDelay: 200, logEnabled: false });
    await new Promise((stop) => process.on('SIGTERM', stop));
  }
  await rabbit.close();
  process.exit(0);
}

main(process.argv.slice(2)).catch((e) => {
  console.error(e);
  process.exit(1);
});
