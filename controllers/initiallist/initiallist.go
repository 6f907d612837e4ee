// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package initiallist has a predicate for the objects with which a watch begins.
package initiallist

import (
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Skip passes the events that all of the predicates pass, except those of the objects with
// which the watch begins. It is for watches of objects that a controller's own objects
// depend on. At its start a controller reconciles all objects of its own, after all caches
// are filled. To look for those that depend on each listed object would only take time.
func Skip(others ...predicate.Predicate) builder.Predicates {
	listed := predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}
	return builder.WithPredicates(append(others, listed)...)
}
