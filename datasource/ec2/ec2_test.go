package ec2

import (
	"testing"

	"github.com/vmseed/vmseed/datasource/datasourcetest"
)

func TestConformance(t *testing.T) {
	datasourcetest.Run(t, datasourcetest.Config{DataSource: New()})
}
