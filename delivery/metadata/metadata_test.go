package metadata

import (
	"testing"

	"github.com/vmseed/vmseed/delivery/deliverytest"
)

func TestConformance(t *testing.T) {
	deliverytest.Run(t, deliverytest.Config{Delivery: New(), Streams: true, Carries: deliverytest.Trees})
}
