package message

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

func TestFileName(t *testing.T) {
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	for queue, want := range map[string]string{
		"orders.failed":       "orders.failed-20260506-070809.jsonl",
		"ucenter@user@failed": "ucenter@user@failed-20260506-070809.jsonl",
		"../../etc/passwd":    "_.._etc_passwd-20260506-070809.jsonl",
		"-rf $HOME; `x`":      "rf__HOME___x_-20260506-070809.jsonl",
		".hidden":             "hidden-20260506-070809.jsonl",
		"a\x1b[2J\xff":        "a__2J_-20260506-070809.jsonl",
		"":                    "queue-20260506-070809.jsonl",
		"приём":               "приём-20260506-070809.jsonl",
	} {
		assert.Equal(t, FileName(model.QueueRef{VHost: "/", Name: queue}, at), want, "%q", queue)
	}
	got := FileName(model.QueueRef{VHost: "/", Name: strings.Repeat("ж", 255)}, at)
	assert.That(t, len(got) <= 130 && !strings.Contains(got, "\uFFFD"), "%d bytes: %s", len(got), got)
}
