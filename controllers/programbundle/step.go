// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programbundle

import (
	"cmp"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/internal/bundle"
)

// step is what a Job does for a bundle: with a registry it is looked for there first, and uploaded
// once it is installed.
type step struct {
	// jobName is the name of the Job of the next attempt, and job makes it.
	jobName func(*v1alpha1.ProgramBundle) string
	job     func(*v1alpha1.ProgramBundle, bridgeobjects.Installing) *batchv1.Job
	// progress says that it goes on, and by what or when. end notes what came of it.
	progress func(d *decision, b *v1alpha1.ProgramBundle, how string, now time.Time)
	end      func(d *decision, b *v1alpha1.ProgramBundle, s Settings, o bundle.Outcome, now time.Time)
}

var (
	finding    = &step{bridgeobjects.FindJobName, bridgeobjects.FindJob, findProgress, findEnd}
	installing = &step{bridgeobjects.InstallJobName, bridgeobjects.InstallJob, installProgress, installEnd}
	pushing    = &step{bridgeobjects.PushJobName, bridgeobjects.PushJob, pushProgress, pushEnd}
)

// stepOf returns what is to be done next, nil for nothing.
func stepOf(b *v1alpha1.ProgramBundle, s Settings) *step {
	searched := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionInRegistry)
	switch {
	case b.Status.Digest == "" && s.Repository != "" && (searched == nil || searched.Reason == v1alpha1.ReasonWorking):
		return finding
	case b.Status.Digest == "":
		return installing
	case s.Repository != "" && !strings.HasPrefix(b.Status.Reference, s.Repository+"@"):
		return pushing
	}
	return nil
}

// refused reports whether a node could not mount the image that was uploaded last.
func refused(b *v1alpha1.ProgramBundle) bool {
	in := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionInRegistry)
	return b.Status.Reference != "" && in != nil && in.Status == metav1.ConditionTrue && !b.ImageRefused().Before(in.LastTransitionTime.Time)
}

func installProgress(d *decision, b *v1alpha1.ProgramBundle, how string, now time.Time) {
	d.say(b, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInstalling, Message: "the package is installed " + how,
	}, now)
}

func installEnd(d *decision, b *v1alpha1.ProgramBundle, _ Settings, o bundle.Outcome, now time.Time) {
	if o.Digest != "" {
		d.made(b, o, now)
		return
	}
	d.retry(now)
	d.say(b, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: string(o.Code), Message: o.Message}, now)
}

func findProgress(d *decision, b *v1alpha1.ProgramBundle, how string, now time.Time) {
	installProgress(d, b, "unless the registry has it, which is looked for "+how, now)
	d.inRegistry(b, v1alpha1.ReasonWorking, "it is looked for "+how, now)
}

func findEnd(d *decision, b *v1alpha1.ProgramBundle, s Settings, o bundle.Outcome, now time.Time) {
	switch {
	case o.Digest != "" && o.Image != "":
		d.made(b, o, now)
		d.status.Reference = s.Repository + "@" + string(o.Image)
		d.inRegistry(b, v1alpha1.ReasonFound, "the registry had it as "+b.Name, now)
	case o.Code == bundle.NotInRegistry:
		d.inRegistry(b, v1alpha1.ReasonNotFound, o.Message, now)
	default:
		d.inRegistry(b, string(o.Code), o.Message, now)
	}
}

func pushProgress(d *decision, b *v1alpha1.ProgramBundle, how string, now time.Time) {
	d.inRegistry(b, v1alpha1.ReasonWorking, "it is uploaded "+how, now)
}

func pushEnd(d *decision, b *v1alpha1.ProgramBundle, s Settings, o bundle.Outcome, now time.Time) {
	if o.Image == "" || string(o.Digest) != b.Status.Digest {
		d.retry(now)
		d.inRegistry(b, cmp.Or(string(o.Code), string(bundle.RegistryFailed)), o.Message, now)
		return
	}
	d.status.Attempts, d.status.RetryTime = 0, nil
	d.status.Reference = s.Repository + "@" + string(o.Image)
	d.inRegistry(b, v1alpha1.ReasonPushed, "pods mount it as an image", now)
}

// inRegistry says whether the bundle is in the registry, which the reason decides.
func (d *decision) inRegistry(b *v1alpha1.ProgramBundle, reason, message string, now time.Time) {
	is := metav1.ConditionFalse
	if reason == v1alpha1.ReasonFound || reason == v1alpha1.ReasonPushed {
		is = metav1.ConditionTrue
	}
	d.say(b, metav1.Condition{Type: v1alpha1.ConditionInRegistry, Status: is, Reason: reason, Message: message}, now)
}
