<?php
# Removes the page that the installer wrote, so that the wiki holds the dump's pages only.
require_once getenv( 'MW_INSTALL_PATH' ) . '/maintenance/Maintenance.php';

class EmptyWiki extends Maintenance {
	public function execute() {
		$dbw = wfGetDB( DB_PRIMARY );
		foreach ( [ 'page', 'revision', 'slots', 'content', 'text', 'recentchanges' ] as $table ) {
			$dbw->delete( $table, '*', __METHOD__ );
		}
	}
}

$maintClass = EmptyWiki::class;
require_once RUN_MAINTENANCE_IF_MAIN;
