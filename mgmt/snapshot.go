package mgmt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// Snapshot returns one poll. The overview and the queue list are required; other parts that cannot be read are nil and
// named in Missing. Its errors are *trouble.Error, or ctx's when ctx was cancelled.
func (c *Client) Snapshot(ctx context.Context) (*model.Snapshot, error) {
	return c.snapshot(ctx, false)
}

// Current returns a Snapshot that asks for the current policies of all queues, at the cost of one more list. A poll
// does so only where the policies contradict what statistics say of a queue (policing.Now).
func (c *Client) Current(ctx context.Context) (*model.Snapshot, error) { return c.snapshot(ctx, true) }

func (c *Client) snapshot(ctx context.Context, current bool) (*model.Snapshot, error) {
	s := &model.Snapshot{TakenAt: time.Now(), Stated: c.roles, Renamed: c.renamed}
	var err error
	if s.Overview, err = c.overview(ctx); err != nil {
		return nil, c.connectError(ctx, err)
	}

	// Each part has its own list of what is missing: they run concurrently, and the order stays the same.
	var missingOf struct{ user, queues, exchanges, bindings, policies, operator []string }
	var operator []model.Policy
	group, polling := errgroup.WithContext(ctx)
	group.SetLimit(c.atOnce(current))

	group.Go(func() (err error) {
		if s.Queues, missingOf.queues, err = c.queues(polling, s.Overview.StatsOff); err == nil && !s.Overview.StatsOff {
			err = c.fill(polling, s.Queues, func(q *model.Queue) bool { return current || fresh(q) })
		}
		return err
	})

	optional := func(part string, missing *[]string, read func() error) {
		group.Go(func() error {
			if err := read(); err != nil && polling.Err() == nil {
				*missing = append(*missing, part+": "+c.whyMissing(polling, err))
			}
			return nil
		})
	}

	optional("exchanges", &missingOf.exchanges, func() (err error) {
		s.Exchanges, missingOf.exchanges, err = c.exchanges(polling)
		return err
	})

	optional("bindings", &missingOf.bindings, func() (err error) {
		s.Bindings, err = c.bindings(polling)
		return err
	})

	optional("policies", &missingOf.policies, func() (err error) {
		s.Policies, err = policies(polling, c, (*rabbithole.Client).ListPoliciesIn)
		return err
	})

	optional("operator policies", &missingOf.operator, func() (err error) {
		operator, err = policies(polling, c, (*rabbithole.Client).ListOperatorPoliciesIn)
		return err
	})

	group.Go(func() error {
		s.Nodes = c.nodes(polling)
		c.readShovels(polling, s)
		return nil
	})

	var user string
	optional("the user's tags", &missingOf.user, func() (err error) {
		user, s.Overview.UserTags, err = c.whoAmI(polling)
		return err
	})

	err = group.Wait()
	if err == nil {
		err = c.doubtDown(ctx, s)
	}
	if err == nil {
		err = ctx.Err() // the optional parts do not report being cut short
	}
	if err == nil && s.Exchanges != nil && len(s.Exchanges) == 0 && len(missingOf.exchanges) == 0 {
		err = errNoVHost // every vhost has exchanges
	}
	if err != nil {
		return nil, c.connectError(ctx, err)
	}
	if user != "" {
		s.Overview.User = user
	}

	c.learnMembers(&s.Overview, s.Nodes, s.Queues)
	known := s.Policies != nil && operator != nil
	s.Policies = append(s.Policies, operator...)
	s.VHosts = c.vhostsOf(s)
	findShovelQueues(s)
	countCarried(s)
	applyDefinitions(s, current)
	if known {
		c.applyPolicies(ctx, s, current)
	}

	c.monitors.Store(s.Overview.Monitors())
	s.Missing = c.correctConsumers(ctx, s)
	c.findHeld(ctx, s.Queues)
	if s.Overview.StatsOff {
		s.Missing = append(s.Missing, "rates, consumers and bytes of queues: statistics are switched off on this broker")
	}

	s.Missing = slices.Concat(s.Missing, missingOf.user, missingOf.queues, missingOf.exchanges, missingOf.bindings,
		missingOf.policies, missingOf.operator)
	s.Took = time.Since(s.TakenAt)
	c.polled.Store(true)
	return s, nil
}

// atOnce returns how many requests of a snapshot run in parallel: one in a poll that follows another one, as no user
// waits for it and the broker has other work.
func (c *Client) atOnce(current bool) int {
	if !current && c.polled.Load() {
		return 1
	}
	return mostAtOnce
}

// vhostsOf returns the vhosts that a snapshot covers. A user with the monitoring tag may list all vhosts and yet read
// the queues of none: only those count whose exchanges were reported.
func (c *Client) vhostsOf(s *model.Snapshot) []string {
	if c.vhost != "" {
		return []string{c.vhost}
	}
	seen := map[string]bool{}
	for x := range model.Each(s.Exchanges) {
		seen[x.VHost] = true
	}
	for q := range model.Each(s.Queues) {
		seen[q.VHost] = true
	}

	return slices.Sorted(maps.Keys(seen))
}

// whyMissing says in a sentence why a part of the poll is missing.
func (c *Client) whyMissing(ctx context.Context, err error) string {
	if answer, ok := errors.AsType[*answerError](err); ok && (answer.Status == 401 || answer.Status == 403) {
		return fmt.Sprintf("user %s may not read them (%s)", c.user, answer)
	}
	if connect, ok := errors.AsType[*trouble.Error](c.connectError(ctx, err)); ok {
		return connect.Cause
	}
	return err.Error()
}
