package kubeobject

import (
	"errors"
	"math"
	"math/big"
	"regexp"
	"strings"
)

// ErrQuantity is returned for a text that is no quantity, or one that is too large.
var ErrQuantity = errors.New("not a quantity such as 512Mi, 2G or 500m")

// Quantity is an exact amount as Kubernetes writes it (k8s.io/apimachinery, package resource): a decimal number with
// one of the suffixes n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or a decimal exponent. The zero value is 0.
type Quantity struct{ rat *big.Rat }

var quantityForm = regexp.MustCompile(`^([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]{1,2}))?$`)

var suffixes = map[string]struct{ base, exponent int64 }{
	"": {10, 0}, "n": {10, -9}, "u": {10, -6}, "m": {10, -3}, "k": {10, 3}, "M": {10, 6}, "G": {10, 9}, "T": {10, 12},
	"P": {10, 15}, "E": {10, 18}, "Ki": {2, 10}, "Mi": {2, 20}, "Gi": {2, 30}, "Ti": {2, 40}, "Pi": {2, 50}, "Ei": {2, 60},
}

// ParseQuantity reads a quantity of at most 64 characters.
func ParseQuantity(text string) (Quantity, error) {
	m := quantityForm.FindStringSubmatch(text)
	if m == nil || len(text) > 64 {
		return Quantity{}, ErrQuantity
	}
	r, ok := new(big.Rat).SetString(strings.TrimPrefix(m[1], "+"))
	if !ok {
		return Quantity{}, ErrQuantity
	}
	factor := suffixes[m[2]]
	if m[3] != "" {
		e, ok := new(big.Int).SetString(strings.TrimPrefix(m[3], "+"), 10)
		if !ok {
			return Quantity{}, ErrQuantity
		}
		factor.base, factor.exponent = 10, e.Int64()
	}
	exponent := factor.exponent
	if exponent < 0 {
		exponent = -exponent
	}
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(factor.base), big.NewInt(exponent), nil))
	if factor.exponent < 0 {
		scale.Inv(scale)
	}
	return Quantity{r.Mul(r, scale)}, nil
}

func (q Quantity) value() *big.Rat {
	if q.rat == nil {
		return new(big.Rat)
	}
	return q.rat
}

// Whole returns the quantity as a whole number of units, and false when it has a fraction or does not fit.
func (q Quantity) Whole() (int64, bool) {
	r := q.value()
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// Times returns the quantity multiplied by n, rounded up to a whole number and limited to the range of int64.
func (q Quantity) Times(n int64) int64 {
	return ceil(new(big.Rat).Mul(q.value(), new(big.Rat).SetInt64(n)))
}

// Per returns the quantity divided by another that is not zero, rounded up to a whole number.
func (q Quantity) Per(unit Quantity) int64 {
	if unit.value().Sign() == 0 {
		return 0
	}
	return ceil(new(big.Rat).Quo(q.value(), unit.value()))
}

// Sign returns -1, 0 or 1.
func (q Quantity) Sign() int { return q.value().Sign() }

func ceil(r *big.Rat) int64 {
	quotient, rest := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	switch {
	case quotient.IsInt64():
		return quotient.Int64()
	case quotient.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}
