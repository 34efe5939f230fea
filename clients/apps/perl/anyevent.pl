# An application on AnyEvent::RabbitMQ: a worker that publishes failures to the end of its queue after a second, with a
# counter and an error in headers, and after three tries into a queue for people. With TEXT=1 the counter is a text.
#
#   perl anyevent.pl version
#   perl anyevent.pl setup    declares everything
#   perl anyevent.pl send N   publishes jobs 0 to N-1
#   perl anyevent.pl work     handles them until it is ended: all fail, or, with OK=1, all succeed
use strict;
use warnings;
use AnyEvent;
use AnyEvent::RabbitMQ;

$| = 1;
my ($mode, $n) = @ARGV;
if ($mode eq 'version') {
    print "AnyEvent::RabbitMQ $AnyEvent::RabbitMQ::VERSION\n";
    exit;
}
my ($user, $password, $host, $port, $vhost) = $ENV{AMQP_URL} =~ m{^amqp://(.*?):(.*?)\@(.*?):(\d+)/(.*)$};
my $closing;
my $failed = sub { exit 0 if $closing; print STDERR ref $_[0] ? "refused\n" : "@_\n"; exit 1 };
my @timers;

# done waits until an operation has succeeded, and returns what it gave.
sub done {
    my ($start) = @_;
    my $answer = AnyEvent->condvar;
    $start->(on_success => sub { $answer->send($_[0]) }, on_failure => $failed);
    return $answer->recv;
}

my $client = AnyEvent::RabbitMQ->new->load_xml_spec;
done(sub {
    $client->connect(host => $host, port => $port, user => $user, pass => $password, vhost => $vhost, timeout => 30,
        on_close => $failed, on_read_failure => $failed, @_);
});
my $channel = done(sub { $client->open_channel(on_close => $failed, @_) });
for my $queue ('pl.jobs', 'pl.jobs.failed') {
    done(sub { $channel->declare_queue(queue => $queue, durable => 1, auto_delete => 0, @_) });
}

sub publish {
    my ($key, $body, %headers) = @_;
    $channel->publish(exchange => '', routing_key => $key, body => $body,
        header => { delivery_mode => 2, headers => {%headers} });
}

sub handle {
    my ($message) = @_;
    my ($job, $headers) = ($message->{body}->payload, $message->{header}->headers || {});
    my $tag = $message->{deliver}->method_frame->delivery_tag;
    if ($ENV{OK}) {
        print "PROCESSED $job\n";
        return $channel->ack(delivery_tag => $tag);
    }
    print "FAILED $job\n";
    my $tries = ($headers->{'x-retry-count'} || 0) + 1;
    push @timers, AnyEvent->timer(after => 1, cb => sub {
        publish($tries > 2 ? 'pl.jobs.failed' : 'pl.jobs', $job, tenant => 'acme',
            'x-retry-count' => $ENV{TEXT} ? "$tries" : $tries,
            'x-error-message' => 'DBD::Pg::st execute failed: deadlock detected at /srv/app/Job.pm line 88.');
        $channel->ack(delivery_tag => $tag);
    });
}

if ($mode eq 'send') {
    publish('pl.jobs', $_, tenant => 'acme') for 0 .. $n - 1;
}
if ($mode eq 'work') {
    done(sub { $channel->consume(queue => 'pl.jobs', no_ack => 0, on_consume => \&handle, @_) });
    my $stop = AnyEvent->condvar;
    my $signal = AnyEvent->signal(signal => 'TERM', cb => sub { $stop->send });
    $stop->recv;
}
$closing = 1;
done(sub { $client->close(@_) });
