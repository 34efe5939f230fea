# An application on Bunny: souls wait as long as each one's expiration says, come to the worker's queue through a fanout
# exchange, and are rejected to a third queue when they fail.
#
#   ruby bunny.rb version
#   ruby bunny.rb setup    declares everything
#   ruby bunny.rb send N   publishes souls 0 to N-1, each for 5 s
#   ruby bunny.rb work     handles them until it is ended: all fail, or, with OK=1, all succeed
#
# With EXCLUSIVE=1 `work` has a buffer and a worker's queue of its own, which only its connection may touch, and
# publishes soul 0 to wait for 20 s in it.
require 'bunny'

$stdout.sync = true
mode, n = ARGV
if mode == 'version'
  puts "bunny #{Bunny::VERSION}"
  exit
end
connection = Bunny.new(ENV['AMQP_URL'])
connection.start
channel = connection.create_channel
dlx = channel.fanout('souls.dlx', durable: true)
lost = channel.fanout('souls.lost', durable: true)
channel.queue('souls.life', durable: true, arguments: { 'x-dead-letter-exchange' => 'souls.dlx' })
heaven = channel.queue('souls.heaven', durable: true, arguments: { 'x-dead-letter-exchange' => 'souls.lost' })
heaven.bind(dlx)
channel.queue('souls.limbo', durable: true).bind(lost)

case mode
when 'send'
  channel.confirm_select
  n.to_i.times do |i|
    channel.default_exchange.publish("soul #{i}", routing_key: 'souls.life', expiration: '5000',
                                     timestamp: Time.now.to_i, persistent: true)
  end
  channel.wait_for_confirms
when 'work'
  stop = Queue.new
  trap('TERM') { stop << true }
  if ENV['EXCLUSIVE']
    own = channel.fanout('souls.own', auto_delete: true)
    channel.queue('souls.own.life', exclusive: true, arguments: { 'x-dead-letter-exchange' => 'souls.own' })
    heaven = channel.queue('souls.own.heaven', exclusive: true).bind(own)
    channel.default_exchange.publish('soul 0', routing_key: 'souls.own.life', expiration: '20000')
  end
  channel.prefetch(5)
  heaven.subscribe(manual_ack: true) do |delivery, _properties, body|
    if ENV['OK']
      puts "PROCESSED #{body.split.last}"
      channel.ack(delivery.delivery_tag)
    else
      puts "FAILED #{body.split.last}"
      channel.reject(delivery.delivery_tag, false)
    end
  end
  stop.pop
end
connection.close
