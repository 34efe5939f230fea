<?php
// An application on Symfony Messenger with php-amqp, wired by hand: two retries after 5 s each, then the failure
// transport. JSON=1 writes messages as JSON instead of PHP's own format.
//
//   php symfony.php version
//   php symfony.php setup    declares everything
//   php symfony.php send N   dispatches invoices 0 to N-1
//   php symfony.php work     handles them until it is ended: all fail, or, with OK=1, all succeed
foreach (['Messenger', 'Messenger/Bridge/Amqp', 'EventDispatcher', 'Serializer', 'PropertyAccess'] as $component) {
    if (stream_resolve_include_path("Symfony/Component/$component/autoload.php")) {
        require_once "Symfony/Component/$component/autoload.php";
    }
}

use Psr\Container\ContainerInterface;
use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\Messenger\Bridge\Amqp\Transport\AmqpTransport;
use Symfony\Component\Messenger\Bridge\Amqp\Transport\Connection;
use Symfony\Component\Messenger\EventListener\AddErrorDetailsStampListener;
use Symfony\Component\Messenger\EventListener\SendFailedMessageForRetryListener;
use Symfony\Component\Messenger\EventListener\SendFailedMessageToFailureTransportListener;
use Symfony\Component\Messenger\EventListener\StopWorkerOnSigtermSignalListener;
use Symfony\Component\Messenger\Handler\HandlersLocator;
use Symfony\Component\Messenger\MessageBus;
use Symfony\Component\Messenger\Middleware\AddBusNameStampMiddleware;
use Symfony\Component\Messenger\Middleware\FailedMessageProcessingMiddleware;
use Symfony\Component\Messenger\Middleware\HandleMessageMiddleware;
use Symfony\Component\Messenger\Middleware\SendMessageMiddleware;
use Symfony\Component\Messenger\Retry\MultiplierRetryStrategy;
use Symfony\Component\Messenger\Transport\Sender\SendersLocator;
use Symfony\Component\Messenger\Transport\Serialization\PhpSerializer;
use Symfony\Component\Messenger\Transport\Serialization\Serializer;
use Symfony\Component\Messenger\Worker;

class SendInvoice
{
    public $id;
    public $mail;

    public function __construct($id = 0, $mail = '')
    {
        $this->id = $id;
        $this->mail = $mail;
    }
}

class MailException extends RuntimeException
{
}

// Services is the smallest container: names and what they stand for.
class Services implements ContainerInterface
{
    private $services;

    public function __construct(array $services)
    {
        $this->services = $services;
    }

    public function get(string $id)
    {
        return $this->services[$id];
    }

    public function has(string $id): bool
    {
        return isset($this->services[$id]);
    }
}

function transport(string $name): AmqpTransport
{
    $serializer = getenv('JSON') ? Serializer::create() : new PhpSerializer();
    return new AmqpTransport(Connection::fromDsn(getenv('AMQP_URL') . "/$name", ['queues' => [$name => []]]), $serializer);
}

function handle(SendInvoice $invoice): void
{
    if (getenv('OK')) {
        echo "PROCESSED {$invoice->id}\n";
        return;
    }
    echo "FAILED {$invoice->id}\n";
    throw new MailException("SMTP 550 mailbox unavailable for {$invoice->mail}", 550);
}

[, $mode, $n] = $argv + [null, null, 0];
if ($mode === 'version') {
    exit('symfony/messenger ' . shell_exec('dpkg-query -W -f "\${source:Upstream-Version}" php-symfony-messenger'));
}
$async = transport('messages');
$failed = transport('failed');
$bus = new MessageBus([
    new AddBusNameStampMiddleware('messenger.bus.default'),
    new FailedMessageProcessingMiddleware(),
    new SendMessageMiddleware(new SendersLocator([SendInvoice::class => ['async']], new Services(['async' => $async]))),
    new HandleMessageMiddleware(new HandlersLocator([SendInvoice::class => ['handle']])),
]);
if ($mode === 'setup') {
    $async->setup();
    $failed->setup();
}
for ($i = 0; $mode === 'send' && $i < (int) $n; $i++) {
    $bus->dispatch(new SendInvoice($i, "bob$i@example.com"));
}
if ($mode === 'work') {
    $events = new EventDispatcher();
    $events->addSubscriber(new AddErrorDetailsStampListener());
    $events->addSubscriber(new SendFailedMessageForRetryListener(new Services(['async' => $async]),
        new Services(['async' => new MultiplierRetryStrategy(2, 5000, 1, 0)])));
    $events->addSubscriber(new SendFailedMessageToFailureTransportListener(new Services(['async' => $failed])));
    $events->addSubscriber(new StopWorkerOnSigtermSignalListener());
    (new Worker(['async' => $async], $bus, $events))->run(['sleep' => 100000]);
}
