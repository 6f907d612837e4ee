// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// Installed are the packages of an installation, with what came of installing them.
type Installed map[v1alpha1.Install]Program

// InstalledOf returns the packages of ProgramBundles. Of several for one package, the one that is
// ready counts, and the newest of those.
func InstalledOf(all []v1alpha1.ProgramBundle) Installed {
	found := Installed{}
	for i := range all {
		p := Of(&all[i])
		if before, known := found[all[i].Spec.Install]; !known || p.precedes(before) {
			found[all[i].Spec.Install] = p
		}
	}
	return found
}

func (p Program) precedes(o Program) bool {
	if p.Ready() != o.Ready() {
		return p.Ready()
	}
	return p.Created.After(o.Created)
}

// ProgramOf returns what the catalog says of a package.
func (i Installed) ProgramOf(of v1alpha1.Install) *catalog.Program {
	said := &catalog.Program{Package: of.Package, Version: of.Version}
	p, known := i[of]
	if !known {
		return said
	}
	said.State = p.State
	if p.Failed() {
		said.Message = p.Message
	}
	if p.Ready() {
		said.InstalledAt, said.Packages, said.Digest = p.Since, p.Packages, p.Digest
	}
	return said
}
