// The controller of the comparison on controller-runtime: for each Pair one ConfigMap and a status, after a call of
// something outside that takes a while. With -lease, one of several processes is active.
package main

import (
	"context"
	"flag"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

var pairKind = schema.GroupVersionKind{Group: "example.windlass.dev", Version: "v1", Kind: "Pair"}

func newPair() *unstructured.Unstructured {
	pair := &unstructured.Unstructured{}
	pair.SetGroupVersionKind(pairKind)
	return pair
}

type reconciler struct {
	client.Client
	wait time.Duration
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	pair := newPair()
	if err := r.Get(ctx, request.NamespacedName, pair); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	value, _, _ := unstructured.NestedString(pair.Object, "spec", "value")
	child := &corev1.ConfigMap{}
	name := client.ObjectKey{Namespace: request.Namespace, Name: request.Name + "-cm1"}
	err := r.Get(ctx, name, child)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if err == nil && child.Data["value"] == value {
		return ctrl.Result{}, nil
	}
	// The call of something outside.
	time.Sleep(r.wait)
	if errors.IsNotFound(err) {
		child = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
		if err := ctrl.SetControllerReference(pair, child, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		child.Data = map[string]string{"value": value}
		err = r.Create(ctx, child)
	} else {
		child = child.DeepCopy()
		child.Data = map[string]string{"value": value}
		err = r.Update(ctx, child)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.writeStatus(ctx, pair)
}

func (r *reconciler) writeStatus(ctx context.Context, pair *unstructured.Unstructured) error {
	before := pair.DeepCopy()
	condition := map[string]any{
		"type": "Ready", "status": "True", "reason": "Done", "message": "",
		"observedGeneration": pair.GetGeneration(), "lastTransitionTime": pair.GetCreationTimestamp().UTC().Format(time.RFC3339),
	}
	status := map[string]any{"observedGeneration": pair.GetGeneration(), "conditions": []any{condition}}
	if err := unstructured.SetNestedMap(pair.Object, status, "status"); err != nil {
		return err
	}
	return r.Status().Patch(ctx, pair, client.MergeFrom(before))
}

// lock is that of the leader. Its holder has the name of the instance, so that the leader can be found.
func lock(config *rest.Config, instance string) (resourcelock.Interface, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return resourcelock.New(resourcelock.LeasesResourceLock, "default", "bench-controller-runtime",
		clients.CoreV1(), clients.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: instance})
}

func run() error {
	instance := flag.String("instance", "a", "name of the process")
	workers := flag.Int("workers", 1, "concurrent reconciles")
	wait := flag.Duration("wait", 0, "how long the call of something outside takes")
	lease := flag.Duration("lease", 0, "elect a leader with a lease of this duration")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	// Like the others, it is not slowed down by a limit of its client.
	config.QPS = -1
	options := ctrl.Options{Metrics: server.Options{BindAddress: "0"}}
	if *lease > 0 {
		renew, retry := *lease*2/3, *lease/6
		options.LeaderElection = true
		options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = lease, &renew, &retry
		if options.LeaderElectionResourceLockInterface, err = lock(config, *instance); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		Named("pairs").
		For(newPair(), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: *workers}).
		Complete(&reconciler{Client: manager.GetClient(), wait: *wait})
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		ctrl.Log.Error(err, "the controller ended")
		os.Exit(1)
	}
}
