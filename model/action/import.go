package action

import (
	"context"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// Import publishes the messages of a file into a queue. Only the command line does that.
type Import struct {
	Messages
	File resume.ImportPlan
	Read message.Walk
	By   Importer
}

// Importer publishes messages into a queue. messages calls its argument with each of them.
type Importer interface {
	Import(ctx context.Context, p resume.ImportPlan, messages message.Walk,
		progress plan.Progress) (plan.Account, error)
}

func (i *Import) Words() Words {
	n, queue := model.Plural(i.Planned, "message"), i.From.Printable()
	return Words{
		Title:   "Import " + n,
		Running: "Importing " + n,
		Does:    "import",
		Asks:    "import " + n + " into " + queue,
	}
}

func (i *Import) Do(ctx context.Context, _ Broker, progress plan.Progress) (plan.Account, error) {
	account, err := i.By.Import(ctx, i.File, i.Read, progress)
	account.Planned = max(account.Planned, i.File.Planned)
	return account, err
}
