package shell

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// LookConsent returns what the user has agreed to about looks that use up delivery limits of a cluster's queues: what
// was chosen by a key since the start, or what the configuration says, or what was chosen earlier.
func (e *Env) LookConsent(cluster string) peek.Consent {
	if c, chosen := e.consents[cluster]; chosen {
		return c
	}
	if e.Consent != peek.Unasked {
		return e.Consent
	}
	return e.kept.Looks[cluster]
}

// MayAskOnce reports, once for a cluster, that the user has not chosen yet. Before what was chosen earlier is known, it
// is false.
func (e *Env) MayAskOnce(cluster string) bool {
	if !e.recalled && e.Preferences != nil || e.askedOnce[cluster] || e.LookConsent(cluster) != peek.Unasked {
		return false
	}
	model.Put(&e.askedOnce, cluster, true)
	return true
}

// ChooseLooks changes what the user has agreed to. It is remembered unless the configuration says it: then it holds
// until the program ends.
func (e *Env) ChooseLooks(cluster string, c peek.Consent) tea.Cmd {
	model.Put(&e.consents, cluster, c)
	if e.Consent != peek.Unasked {
		return nil
	}

	return e.Keep(func(k *KeptChoices) { model.Put(&k.Looks, cluster, c) })
}

// Recall restores what was chosen before this start.
func (e *Env) Recall(c KeptChoices) { e.kept, e.recalled = c, true }
