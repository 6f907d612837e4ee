// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// maxIssuer is the CRD's limit. The installation's configuration was already
// checked for valid issuers.
const maxIssuer = 512

// isAcceptable reports whether a HostedBridge can name the subject. The API
// server would quote a subject that it refuses, and a logged error must not
// reveal who logs in.
func isAcceptable(issuer, subject string) bool {
	return issuer != "" && len(issuer) <= maxIssuer && oauth.ValidSubject(subject)
}

// checkTemplate returns the errors of a template. The chart's admission policy
// would refuse an invalid one at the first login.
func checkTemplate(template v1alpha1.HostedBridgeSpec) error {
	rest := template
	rest.Tier, rest.Servers = "", nil
	if !reflect.ValueOf(rest).IsZero() {
		return errors.New("it says more than tier and servers")
	}
	for _, s := range template.Servers {
		if s.Recipe == nil || s.Recipe.Name == "" {
			return fmt.Errorf("its server %q has no recipe", s.Name)
		}
		only := v1alpha1.Server{Name: s.Name, Recipe: &v1alpha1.RecipeReference{Name: s.Recipe.Name, Version: s.Recipe.Version}}
		if !reflect.DeepEqual(s, only) {
			return fmt.Errorf("its server %q says more than a name and a recipe with its version", s.Name)
		}
	}
	return nil
}
