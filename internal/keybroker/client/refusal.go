// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// Refusal is an answer of the keybroker other than the expected one.
type Refusal struct {
	Status int
	// Code is one of the keybroker's stable codes, empty when the answer had
	// none.
	Code string
	// Detail is the sentence that goes with the code, for people to read. It may
	// be empty.
	Detail string
}

// Error implements error. The detail is for the user, not for the log.
func (r *Refusal) Error() string {
	return fmt.Sprintf("keybroker answers %d %s", r.Status, r.Code)
}

// A proxy in between may answer too, so only text in the form of the
// keybroker's codes and sentences is passed on.
var (
	codeForm   = regexp.MustCompile(`^[a-z0-9_]+$`)
	detailForm = regexp.MustCompile(`^[ -~]+$`)
)

// maxCode and maxDetail limit their lengths in bytes.
const maxCode, maxDetail = 64, 512

// refusal reads a problem document.
func refusal(status int, body []byte) *Refusal {
	var problem struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	r := &Refusal{Status: status}
	if json.Unmarshal(body, &problem) != nil || len(problem.Code) > maxCode || !codeForm.MatchString(problem.Code) {
		return r
	}
	r.Code = problem.Code
	if len(problem.Detail) <= maxDetail && detailForm.MatchString(problem.Detail) {
		r.Detail = problem.Detail
	}
	return r
}
