package target

import "github.com/dlxtop/dlxtop/model"

// Problem is why a message cannot be sent somewhere: NoWorker, or a model.Said.
type Problem interface {
	Words() string // in one sentence
}

func manyFlows(workers []model.QueueRef) Problem {
	return model.Saidf("this queue belongs to %d flows (%s), and the message has no trace of its worker: name a target, "+
		"for example queue:NAME", len(workers), workers)
}

func delays(exchange string) Problem {
	return model.Saidf("the exchange %s delays (x-delayed-message): it reports at once that no queue took the message, "+
		"and delivers it later: dlxtop could not know whether it arrived", exchange)
}
