// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// Storage is the volume in which a program keeps files.
type Storage struct {
	// Size is the requested size. If Initial, it is only for a volume that does not
	// exist yet: the author of a recipe does not change the sizes of others' volumes.
	Size      resource.Quantity
	Initial   bool
	MountPath string
	// Class is the StorageClass, empty for the cluster's default.
	Class string
	// Delete means that the claim goes with its server and its bridge.
	Delete bool
}

// Claim is what is observed of a PersistentVolumeClaim of one of the bridge's servers,
// which need not be in the spec any more.
type Claim struct {
	Name  string
	UID   types.UID
	Size  resource.Quantity
	Class string
	// Owned means that it goes with the bridge. Foreign means that it belongs to
	// another user or to nobody that is known.
	Owned, Foreign bool
	// Deleting means that it is gone when no pod has it any more.
	Deleting bool
}

// storageOf returns the volume that the spec says.
func storageOf(s *v1alpha1.StdioStorage) *Storage {
	if s == nil {
		return nil
	}
	return &Storage{
		Size: quantity(string(s.Size)), MountPath: cmp.Or(s.MountPath, v1alpha1.DefaultStorageMountPath),
		Class: ptr.Deref(s.StorageClassName, ""), Delete: s.Retention == v1alpha1.StorageDelete,
	}
}

// recipeStorage returns the volume that a recipe asks for, as the spec changes it.
// The size was checked when the recipe was resolved.
func recipeStorage(asked *bridgeconfig.Storage, changed *v1alpha1.RecipeReferenceStorage) *Storage {
	if asked == nil {
		return nil
	}
	s := &Storage{Initial: true, MountPath: cmp.Or(asked.MountPath, v1alpha1.DefaultStorageMountPath)}
	s.Size = quantity(asked.Size)
	if changed == nil {
		return s
	}
	if changed.Size != "" {
		s.Size, s.Initial = quantity(string(changed.Size)), false
	}
	s.Class, s.Delete = ptr.Deref(changed.StorageClassName, ""), changed.Retention == v1alpha1.StorageDelete
	return s
}

// quantity reads a size. An invalid one is zero, which Room.Take refuses.
func quantity(size string) resource.Quantity {
	q, err := resource.ParseQuantity(size)
	if err != nil {
		return resource.Quantity{}
	}
	return q
}

// SizeOf returns the size to request for a server's volume. A volume never shrinks.
func SizeOf(s Storage, existing *Claim) resource.Quantity {
	if existing != nil && (s.Initial || s.Size.Cmp(existing.Size) < 0) {
		return existing.Size
	}
	return s.Size
}

// ClaimOf returns the claim of a server, nil if it does not exist.
func ClaimOf(b *effective.Bridge, claims []Claim, server string) *Claim {
	name := v1alpha1.ClaimName(b.Name, server)
	for i := range claims {
		if claims[i].Name == name {
			return &claims[i]
		}
	}
	return nil
}

// Room is what a tier lets a bridge's servers store. What exists stays when a tier's
// limit becomes lower: only what is added is refused.
type Room struct {
	bridge *effective.Bridge
	tier   quota.Tier
	claims []Claim
	used   resource.Quantity
}

// NewRoom returns the room that the claims leave. A claim counts if no server uses
// it, too, unless it is about to be deleted.
func NewRoom(b *effective.Bridge, tiers quota.Tiers, claims []Claim) *Room {
	r := &Room{bridge: b, tier: tiers[b.Spec.Tier], claims: claims}
	dropped := dropped(b, claims)
	for _, c := range claims {
		if !c.Foreign && !c.Deleting && !slices.Contains(dropped, c) {
			r.used.Add(c.Size)
		}
	}
	return r
}

// Take gives the server its storage, or returns why it cannot have it.
func (r *Room) Take(s Server) Finding {
	if s.Storage == nil {
		return Finding{}
	}
	if s.Storage.Size.Sign() <= 0 {
		return Finding{v1alpha1.ReasonInvalidServer, fmt.Sprintf(
			"spec.servers[%d]%s.size: it must be a number of bytes greater than 0, such as 100Mi or 1Gi", s.Index, r.field(s))}
	}
	existing := r.kept(s.Name)
	var before resource.Quantity
	if existing != nil {
		if f := r.inClass(s, *existing); f != (Finding{}) {
			return f
		}
		before = existing.Size
	}
	size := SizeOf(*s.Storage, existing)
	more := size.DeepCopy()
	more.Sub(before)
	if more.Sign() <= 0 {
		return Finding{}
	}
	total := r.used.DeepCopy()
	total.Add(more)
	limit := r.tier.ServerStorage()
	switch {
	case limit == nil:
		return r.exceeded(s, fmt.Sprintf("%s are asked for, and tier %q has no storage", &size, r.bridge.Spec.Tier))
	case size.Cmp(*limit) > 0:
		return r.exceeded(s, fmt.Sprintf("%s are more than tier %q allows one server; it must be at most %s", &size, r.bridge.Spec.Tier, limit))
	case total.Cmp(*r.tier.Storage) > 0:
		return r.exceeded(s, fmt.Sprintf(
			"with %s the storage of all servers is %s, which is more than tier %q allows; it must be at most %s%s",
			&size, &total, r.bridge.Spec.Tier, r.tier.Storage, r.unused()))
	}
	r.used = total
	return Finding{}
}

// kept returns the claim of a server if it stays.
func (r *Room) kept(server string) *Claim {
	if c := ClaimOf(r.bridge, r.claims, server); c != nil && !c.Deleting {
		return c
	}
	return nil
}

func (r *Room) inClass(s Server, c Claim) Finding {
	if s.Storage.Class == "" || c.Class == "" || s.Storage.Class == c.Class {
		return Finding{}
	}
	return Finding{v1alpha1.ReasonInvalidServer, fmt.Sprintf(
		"spec.servers[%d]%s.storageClassName: PersistentVolumeClaim %s of server %s is of class %s, where it stays; leave the class out, or delete the claim to begin with an empty one",
		s.Index, r.field(s), c.Name, s.Name, c.Class)}
}

func (r *Room) exceeded(s Server, why string) Finding {
	return Finding{v1alpha1.ReasonTierLimitExceeded, fmt.Sprintf("spec.servers[%d]%s.size: server %s: %s", s.Index, r.field(s), s.Name, why)}
}

// field is where the storage of a server stands in the spec.
func (r *Room) field(s Server) string {
	if r.bridge.Spec.Servers[s.Index].Recipe != nil {
		return ".recipe.storage"
	}
	return ".transport.stdio.storage"
}

// unused names the claims that count although no server of the spec has them. It
// begins with a semicolon, and is empty if there are none.
func (r *Room) unused() string {
	var names []string
	for _, c := range r.claims {
		if !c.Foreign && !c.Deleting && !c.Owned && !r.bridge.Has(v1alpha1.ClaimServer(c.Name)) {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; retained claims of servers that left the spec count until they are deleted: " + strings.Join(names, ", ")
}

// storageFits is the check that the tier allows the servers' storage.
func storageFits(o Observed) Finding {
	room := NewRoom(o.Bridge, o.Tiers, o.Claims)
	for _, s := range Servers(o.Bridge) {
		if f := room.Take(s); f != (Finding{}) {
			return f
		}
	}
	return Finding{}
}

// dropped returns the claims to delete: those that go with their servers, whose
// servers have left the spec. A server that is out of service keeps its claim.
func dropped(b *effective.Bridge, claims []Claim) []Claim {
	var list []Claim
	for _, c := range claims {
		if c.Owned && !c.Deleting && !b.Has(v1alpha1.ClaimServer(c.Name)) {
			list = append(list, c)
		}
	}
	return list
}
