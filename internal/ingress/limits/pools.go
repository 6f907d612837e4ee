// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"net/netip"
	"time"
)

// The memory of what requests hold, in bytes, beside that for the bodies of users. All of it
// together fits into the memory limit that the chart gives the ingress.
const (
	// MaxAnswers bounds the answers to users, without those of their bridges, which
	// are passed on as they come. One user may fill a sixteenth, 4 MiB.
	MaxAnswers  = 64 << 20
	AnswerShare = 16
	// MaxPrograms bounds the bodies and answers of directories, publishers and owners of
	// SharedServers. One may fill a quarter: two of the largest bodies.
	MaxPrograms = 32 << 20
	// maxAdministrators bounds those of administrators. One may fill a half.
	maxAdministrators  = 32 << 20
	administratorShare = 2
	// MaxStrangers bounds those of callers who are not known, and maxReturning
	// those of callers who are not known but were let in before. One address may fill a
	// sixteenth.
	MaxStrangers = 64 << 20
	maxReturning = 32 << 20
	// MaxPeeks bounds what is read of refused calls for their ids. It is apart from
	// what callers without a key need to log in.
	MaxPeeks = 4 << 20
	// MaxStrangerRequests bounds the requests in flight whose caller is not known yet, or was
	// refused. Each takes about 14 KiB. One address may have a sixteenth, 512.
	MaxStrangerRequests = 8192
)

// Pools bound what requests hold at a time, by whom they are from, so that no caller is
// in another's way.
type Pools struct {
	Bodies         *Memory[string] // of users
	Answers        *Memory[string] // to users
	Programs       *Memory[string]
	Administrators *Memory[string]
	Strangers      *SourceMemory
	Returning      *SourceMemory // of strangers from whose network somebody was let in
	LetIn          *KnownSources
	Peeks          *SourceMemory
	// Requests counts requests of strangers, not bytes.
	Requests *SourceMemory
}

// NewPools returns pools with so many bytes for the bodies of users.
func NewPools(bodies int64) *Pools {
	return &Pools{
		Bodies:         NewMemory[string](bodies, UserShare),
		Answers:        NewMemory[string](MaxAnswers, AnswerShare),
		Programs:       NewMemory[string](MaxPrograms, UserShare),
		Administrators: NewMemory[string](maxAdministrators, administratorShare),
		Strangers:      NewSourceMemory(MaxStrangers),
		Returning:      NewSourceMemory(maxReturning),
		LetIn:          NewKnownSources(),
		Peeks:          NewSourceMemory(MaxPeeks),
		Requests:       NewSourceMemory(MaxStrangerRequests),
	}
}

// OfStranger returns reservations for a body and an answer of a caller who is not known yet. A
// program that has a token renewed has a network from which it got one, and memory that other
// strangers cannot take: returning is for a request for that.
func (p *Pools) OfStranger(source netip.Addr, returning bool, now time.Time) (body, answer *Reservation) {
	of := p.Strangers
	if returning && p.LetIn.Has(source, now) {
		of = p.Returning
	}
	return of.For(source), of.For(source)
}

// OfUser returns those of a user.
func (p *Pools) OfUser(user string) (body, answer *Reservation) {
	return p.Bodies.For(user), p.Answers.For(user)
}

// OfAdministrator returns those of an administrator.
func (p *Pools) OfAdministrator(id string) (body, answer *Reservation) {
	return p.Administrators.For(id), p.Administrators.For(id)
}

// OfProgram returns those of the holder of a key of a feature.
func (p *Pools) OfProgram(feature, holder string) (body, answer *Reservation) {
	id := feature + " " + holder
	return p.Programs.For(id), p.Programs.For(id)
}
