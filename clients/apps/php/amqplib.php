<?php
// An application on php-amqplib: rejected invoices wait 5 s and come back by the exchange that publishers use; after
// three tries the worker itself publishes them to a queue for people.
//
//   php amqplib.php version
//   php amqplib.php setup    declares everything
//   php amqplib.php send N   publishes invoices 0 to N-1
//   php amqplib.php work     handles them until it is ended: all fail, or, with OK=1, all succeed
require_once 'PhpAmqpLib/autoload.php';

use PhpAmqpLib\Channel\AMQPChannel;
use PhpAmqpLib\Connection\AMQPStreamConnection;
use PhpAmqpLib\Message\AMQPMessage;
use PhpAmqpLib\Wire\AMQPTable;

const MOST_TRIES = 3;

function declare_all(AMQPChannel $channel): void
{
    $channel->exchange_declare('billing', 'topic', false, true, false);
    $channel->exchange_declare('billing.retry', 'topic', false, true, false);
    $channel->exchange_declare('billing.dead', 'fanout', false, true, false);
    $channel->queue_declare('billing.invoice', false, true, false, false, false,
        new AMQPTable(['x-dead-letter-exchange' => 'billing.retry']));
    $channel->queue_bind('billing.invoice', 'billing', 'invoice.#');
    $channel->queue_declare('billing.invoice.wait', false, true, false, false, false,
        new AMQPTable(['x-dead-letter-exchange' => 'billing', 'x-message-ttl' => 5000]));
    $channel->queue_bind('billing.invoice.wait', 'billing.retry', '#');
    $channel->queue_declare('billing.parking', false, true, false, false);
    $channel->queue_bind('billing.parking', 'billing.dead');
}

function send(AMQPChannel $channel, int $n): void
{
    $channel->confirm_select();
    for ($i = 0; $i < $n; $i++) {
        $channel->basic_publish(new AMQPMessage(json_encode(['invoice' => $i]), [
            'delivery_mode' => 2, 'message_id' => "inv-$i", 'timestamp' => time(), 'content_type' => 'application/json',
            'application_headers' => new AMQPTable(['tenant' => 'acme']),
        ]), 'billing', 'invoice.created');
    }
    $channel->wait_for_pending_acks(30);
}

// rejections is how often this worker's queue has rejected a message, as the broker counts it.
function rejections(array $headers): int
{
    foreach ($headers['x-death'] ?? [] as $death) {
        if ($death['queue'] === 'billing.invoice' && $death['reason'] === 'rejected') {
            return $death['count'];
        }
    }
    return 0;
}

function handle(AMQPMessage $message): void
{
    $invoice = json_decode($message->body)->invoice;
    if (getenv('OK')) {
        echo "PROCESSED $invoice\n";
        $message->ack();
        return;
    }
    echo "FAILED $invoice\n";
    $properties = $message->get_properties();
    $headers = ($properties['application_headers'] ?? new AMQPTable())->getNativeData();
    if (rejections($headers) + 1 < MOST_TRIES) {
        $message->reject(false);
        return;
    }
    $headers['error'] = 'PDOException: SQLSTATE[40001] deadlock found';
    $headers['error_class'] = 'PDOException';
    $properties['application_headers'] = new AMQPTable($headers);
    $message->getChannel()->basic_publish(new AMQPMessage($message->body, $properties), 'billing.dead',
        $message->getRoutingKey());
    $message->ack();
}

[, $mode, $n] = $argv + [null, null, 0];
if ($mode === 'version') {
    exit('php-amqplib ' . PhpAmqpLib\Package::VERSION . "\n");
}
$url = parse_url(getenv('AMQP_URL'));
$connection = new AMQPStreamConnection($url['host'], $url['port'], $url['user'], $url['pass'],
    urldecode(substr($url['path'], 1)));
$channel = $connection->channel();
declare_all($channel);
if ($mode === 'send') {
    send($channel, (int) $n);
}
if ($mode === 'work') {
    $channel->basic_qos(0, 5, false);
    $channel->basic_consume('billing.invoice', '', false, false, false, false, 'handle');
    while ($channel->is_consuming()) {
        $channel->wait();
    }
}
$channel->close();
$connection->close();
