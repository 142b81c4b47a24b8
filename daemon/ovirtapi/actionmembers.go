package ovirtapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/format/tree"
)

// actionMembers are the members that an action has in oVirt (ovirt-engine-api-model, type Action), and those that it had in version
// 3. Some have no effect here, or none for the action at hand; clients fill in one type for all actions.
const actionMembers = "actions activate allow_partial_import async attach_wgt attachment authorized_key auto_pinning_policy bricks certificates " +
	"check_connectivity clone clone_permissions cluster collapse_snapshots comment commit_on_success connection connectivity_timeout " +
	"correlation_id data_center deploy_hosted_engine description details directory discard_snapshots discovered_targets disk disk_profile " +
	"disks exclusive expiry fault fence_type filename filter fix_layout follow force grace_period host href id image image_transfer " +
	"import_as_template is_attached iscsi iscsi_targets job lease link logical_units maintenance_after_restart maintenance_enabled " +
	"migrate_vms_in_affinity_closure modified_bonds modified_labels modified_network_attachments name optimize_cpu_settings option pause " +
	"permission power_management proxy_ticket quota reason reassign_bad_macs reboot registration_configuration rel " +
	"remote_viewer_connection_file removed_bonds removed_labels removed_network_attachments resolution_type restore_memory root_password " +
	"seal snapshot source_host ssh status stop_gluster_service storage_domain storage_domains succeeded synchronized_network_attachments " +
	"template ticket timeout undeploy_hosted_engine upgrade_action upgrade_percent_complete use_cloud_init use_ignition use_initialization " +
	"use_sysprep virtual_functions_configuration vm vnic_profile_mappings volatile"

// knowMembers refuses an action with a member that oVirt does not have: passed over, a flag that is misspelt would start a guest
// without what was asked for.
func knowMembers(action element.Element) *fault {
	known := strings.Fields(actionMembers)
	for _, c := range action.Children {
		if slices.Contains(known, c.Name) {
			continue
		}
		detail := fmt.Sprintf("%s: an action has no member %q", c.Place, c.Name)
		if meant, ok := tree.Closest(c.Name, known); ok {
			detail += fmt.Sprintf("; did you mean %q?", meant)
		}
		return badSyntax(detail)
	}
	return nil
}
