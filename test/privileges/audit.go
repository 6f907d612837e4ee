// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package privileges

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Request is what an account asked of the API server.
type Request struct {
	Account Account
	Act     Act
	// Refused says that the account had no right to it, and Forbidden that the
	// answer was so, which admission may say as well.
	Refused, Forbidden bool
	// Created says that the answer was a new object.
	Created bool
}

// Log is what an audit log has of the accounts that are not Kubernetes' own.
type Log struct {
	// Requests has how often each was made.
	Requests map[Request]int
	// Strangers has what was asked without a credential, or with one that the
	// API server does not take.
	Strangers map[string]int
	// Created are the namespaces that were made while the log was written.
	Created map[string]bool

	// written is the time of the newest line, and back that of the first one
	// after the API server had stood still.
	written, back time.Time
}

// An API server that stood still finds requests whose clients gave up meanwhile.
// Its look at a credential ends with the client, and the answer that nobody gets
// is 401. A log that has the leases of a cluster has lines each second.
const (
	stoodStill  = 20 * time.Second
	takesToWake = time.Second
)

// event is a line of an audit log, as audit.k8s.io/v1 says.
type event struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef *struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Annotations              map[string]string `json:"annotations"`
	RequestReceivedTimestamp time.Time         `json:"requestReceivedTimestamp"`
	StageTimestamp           time.Time         `json:"stageTimestamp"`
}

// unknown says that the sender showed no credential, or none that was taken.
func (e *event) unknown() bool {
	return e.User.Username == "" || e.User.Username == "system:anonymous"
}

// Read adds what a file of the log has. The API server may be writing its last
// line.
func (l *Log) Read(file io.Reader) error {
	if l.Requests == nil {
		l.Requests, l.Strangers, l.Created = map[Request]int{}, map[string]int{}, map[string]bool{}
	}
	lines := bufio.NewReader(file)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		l.add(&e)
	}
}

func (l *Log) add(e *event) {
	l.clock(e.StageTimestamp)
	account, ok := strings.CutPrefix(e.User.Username, userPrefix)
	switch created := e.ResponseStatus.Code == http.StatusCreated; {
	case ok:
		namespace, name, _ := strings.Cut(account, ":")
		l.Requests[Request{
			Account: Account{namespace, name}, Act: e.act(), Created: created,
			Refused:   e.Annotations["authorization.k8s.io/decision"] == "forbid",
			Forbidden: e.ResponseStatus.Code == http.StatusForbidden,
		}]++
	case e.unknown() && !l.givenUp(e):
		l.Strangers[fmt.Sprintf("%s: status %d", e.act(), e.ResponseStatus.Code)]++
	case created && e.ObjectRef != nil && e.ObjectRef.Resource == "namespaces" && e.ObjectRef.Subresource == "":
		l.Created[e.ObjectRef.Name] = true
	}
}

// clock notes when a line was written.
func (l *Log) clock(at time.Time) {
	if !l.written.IsZero() && at.Sub(l.written) >= stoodStill {
		l.back = at
	}
	if at.After(l.written) {
		l.written = at
	}
}

// givenUp says that a credential was not looked at, since the client had left.
func (l *Log) givenUp(e *event) bool {
	return e.User.Username == "" && e.ResponseStatus.Code == http.StatusUnauthorized &&
		!l.back.IsZero() && e.RequestReceivedTimestamp.Sub(l.back).Abs() <= takesToWake
}

func (e *event) act() Act {
	o := e.ObjectRef
	if o == nil {
		// What is asked for, without how.
		path := e.RequestURI
		if u, err := url.Parse(path); err == nil {
			path = u.Path
		}
		return Act{Verb: e.Verb, Path: path}
	}
	a := Act{Verb: e.Verb, Group: o.APIGroup, Resource: o.Resource, Namespace: o.Namespace, Name: o.Name}
	if o.Subresource != "" {
		a.Resource += "/" + o.Subresource
	}
	// The API server gives the name of a new object to its record, after it has
	// decided without it.
	if a.Verb == "create" && o.Subresource == "" {
		a.Name = ""
	}
	return a
}

// acts are what the API server asked of RBAC for a request: a write that makes
// the object which it would change needs the right to create it, too.
func (r Request) acts() []Act {
	acts := []Act{r.Act}
	if r.makes() && r.Created {
		acts = append(acts, r.creation())
	}
	return acts
}

// makes says whether a request may make what it does not find.
func (r Request) makes() bool { return r.Act.Verb == "patch" || r.Act.Verb == "update" }

func (r Request) creation() Act {
	a := r.Act
	a.Verb = "create"
	return a
}
