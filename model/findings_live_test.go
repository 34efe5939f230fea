package model

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLosingNow(t *testing.T) {
	moving := func(in, dead float64) Movement { return Movement{In: Some(in), Dead: Some(dead)} }
	flow := []part{queue("w", consumers(1)), queue("b", dlx(""), deadKey("w"), ttl(1000))}
	tests := []struct {
		name  string
		parts []part
		moves Moves
		over  time.Duration
		want  []string
	}{
		{"what leaves arrives", flow, Moves{ref("b"): moving(2, 2), ref("w"): moving(2, 0)}, 12 * time.Second, nil},
		{"what leaves arrives nowhere", flow, Moves{ref("b"): moving(2, 2), ref("w"): moving(0, 0)}, 12 * time.Second, []string{"error losing-now b"}},
		{"too short a time to tell", flow, Moves{ref("b"): moving(2, 2), ref("w"): moving(0, 0)}, 4 * time.Second, nil},
		{"too few to tell", flow, Moves{ref("b"): moving(0.1, 0.1), ref("w"): moving(0, 0)}, 12 * time.Second, nil},
		{"nothing is known of the target", flow, Moves{ref("b"): moving(2, 2)}, 12 * time.Second, nil},
		{"a consumer took them", flow, Moves{ref("b"): moving(2, 0), ref("w"): moving(0, 0)}, 12 * time.Second, nil},
		{"a missing exchange", []part{queue("b", dlx("nope"), ttl(1000))}, Moves{ref("b"): moving(2, 2)}, 12 * time.Second, []string{"error losing-now b"}},
		{"no dead-letter exchange, so nothing should arrive", []part{queue("b", ttl(1000))}, Moves{ref("b"): moving(2, 2)}, 12 * time.Second, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, codes(topologyOf("3.10.8", test.parts...).LosingNow(test.moves, test.over))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
