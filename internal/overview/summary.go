// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Summary says in a sentence or two how a user's bridge is.
func (d Detail) Summary() string {
	switch {
	case d.Access != v1alpha1.AccessAllowed:
		return "This person's keys and logins are refused."
	case d.Phase == v1alpha1.PhaseFailed:
		return ended("The bridge does not run", failedBy(d.Conditions))
	case d.Phase == v1alpha1.PhaseSuspended:
		return "The bridge is suspended, and refuses calls."
	case d.Phase == v1alpha1.PhasePending, d.Phase == v1alpha1.PhaseWaking:
		return ended("The bridge is starting", messageOf(d.Conditions, v1alpha1.ConditionWorkloadAvailable))
	case d.Phase == "":
		return "The operator has not looked at the bridge yet."
	case d.Unhealthy > 0:
		return fmt.Sprintf("%d of %s cannot be used.", d.Unhealthy, counted(d.Servers, "server"))
	case d.Phase == v1alpha1.PhaseAsleep:
		return "The bridge is asleep, and wakes at the next call."
	case d.Servers == 0:
		return "The bridge has no servers."
	}
	return counted(d.Servers, "server") + ", " + counted(d.Tools, "tool") + ". Nothing is reported to be wrong."
}

// ended returns a sentence, with its cause if that is known.
func ended(sentence, cause string) string {
	if cause == "" {
		return sentence + "."
	}
	return sentence + ": " + strings.TrimSuffix(cause, ".") + "."
}

func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// messageOf returns the message of a condition that is False, empty for any other.
func messageOf(conditions []metav1.Condition, of string) string {
	at := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Type == of && c.Status == metav1.ConditionFalse })
	if at < 0 {
		return ""
	}
	return conditions[at].Message
}

// failedBy returns why the operator does not run a bridge, as its conditions say it.
func failedBy(conditions []metav1.Condition) string {
	for _, of := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionReady} {
		if message := messageOf(conditions, of); message != "" {
			return message
		}
	}
	return ""
}

// ConditionWords returns a condition as words, such as "Secrets sealed: no".
func ConditionWords(c metav1.Condition) string {
	is := "not known"
	switch c.Status {
	case metav1.ConditionTrue:
		is = "yes"
	case metav1.ConditionFalse:
		is = "no"
	}
	return Words(c.Type) + ": " + is
}

// Words returns a reason or a type of a condition, one word in the API, as words.
func Words(reason string) string {
	var b strings.Builder
	letters := []rune(strings.ReplaceAll(reason, "_", " "))
	for i, r := range letters {
		isWord := i+1 < len(letters) && unicode.IsLower(letters[i+1]) // And no short form, such as ID.
		if i > 0 && unicode.IsUpper(r) {
			if unicode.IsLower(letters[i-1]) || isWord {
				b.WriteByte(' ')
			}
			if isWord {
				r = unicode.ToLower(r)
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}
