// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package onboarding

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// maxIssuer is the CRD's limit. Which URLs are issuers the configuration of the
// installation has said before.
const maxIssuer = 512

// acceptable reports whether a HostedBridge can name the subject. The API server
// would quote one that it refuses, and an error that is logged shall not say who
// logs in.
func acceptable(issuer, subject string) bool {
	return issuer != "" && len(issuer) <= maxIssuer && oauth.ValidSubject(subject)
}

// check returns what is wrong with a template. What it may not say the chart's
// admission policy would refuse, at the first login.
func check(template v1alpha1.HostedBridgeSpec) error {
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
