// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// listingWatch is a watch that begins with all existing objects, in place of a
// list. Until the bookmark after them, the known state is as old as before, and
// the watch does not count as open.
type listingWatch struct {
	apiwatch.Interface
	opened, ended func()

	events chan apiwatch.Event
	stop   sync.Once
	done   chan struct{}

	mu            sync.Mutex
	open, stopped bool
}

// newListingWatch has opened called once the initial events have been taken, and
// ended at the end, if opened was.
func newListingWatch(w apiwatch.Interface, opened, ended func()) *listingWatch {
	l := &listingWatch{Interface: w, opened: opened, ended: ended, events: make(chan apiwatch.Event), done: make(chan struct{})}
	go l.pass()
	return l
}

// pass passes events on until the watch ends.
func (l *listingWatch) pass() {
	defer close(l.events)
	for e := range l.Interface.ResultChan() {
		select {
		case l.events <- e:
		case <-l.done:
			return
		}
		if endsList(e) {
			l.setOpen()
		}
	}
}

func endsList(e apiwatch.Event) bool {
	if e.Type != apiwatch.Bookmark {
		return false
	}
	object, err := meta.Accessor(e.Object)
	return err == nil && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

func (l *listingWatch) setOpen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.open && !l.stopped {
		l.open = true
		l.opened()
	}
}

// ResultChan implements apiwatch.Interface.
func (l *listingWatch) ResultChan() <-chan apiwatch.Event { return l.events }

// Stop implements apiwatch.Interface.
func (l *listingWatch) Stop() {
	l.stop.Do(func() {
		l.mu.Lock()
		l.stopped = true
		if l.open {
			l.ended()
		}
		l.mu.Unlock()
		close(l.done)
	})
	l.Interface.Stop()
}
