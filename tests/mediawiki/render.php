<?php
# Prints what pages of the main namespace show, as JSON lines (render.sh has the format).
require_once getenv( 'MW_INSTALL_PATH' ) . '/maintenance/Maintenance.php';

use MediaWiki\MediaWikiServices;

class RenderPages extends Maintenance {
	private const CALL_BYTES_MAX = 20000;
	private const HTML = [ 'allowTOC' => false, 'enableSectionEditLinks' => false, 'unwrap' => true ];

	public function __construct() {
		parent::__construct();
		$this->addOption( 'pages', 'how many, chosen by a hash of their titles', false, true );
	}

	public function execute() {
		foreach ( $this->titles() as $title ) {
			$page = [ 'title' => $title->getPrefixedText(), 'html' => null, 'calls' => [] ];
			try {
				$content = MediaWikiServices::getInstance()->getWikiPageFactory()->newFromTitle( $title )->getContent();
				if ( !$content || $content->getModel() !== CONTENT_MODEL_WIKITEXT ) {
					continue;
				}
				$page['html'] = $this->html( $content->getText(), $title );
				$page['calls'] = $this->calls( $content->getText(), $title );
			} catch ( Throwable $e ) {
				fwrite( STDERR, $page['title'] . ': ' . $e->getMessage() . "\n" );
			}
			echo json_encode( $page, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE ), "\n";
		}
	}

	private function titles() {
		$rows = iterator_to_array( wfGetDB( DB_REPLICA )->select( 'page',
			[ 'page_id', 'page_namespace', 'page_title', 'page_is_redirect', 'page_content_model' ],
			[ 'page_namespace' => NS_MAIN, 'page_is_redirect' => 0 ], __METHOD__, [ 'ORDER BY' => 'page_id' ] ), false );
		if ( $this->hasOption( 'pages' ) ) {
			usort( $rows, static fn ( $a, $b ) => strcmp( md5( $a->page_title ), md5( $b->page_title ) ) );
			$rows = array_slice( $rows, 0, (int)$this->getOption( 'pages' ) );
		}
		return array_map( [ Title::class, 'newFromRow' ], $rows );
	}

	private function html( $text, $title ) {
		$parser = MediaWikiServices::getInstance()->getParserFactory()->create();
		return $parser->parse( $text, $title, ParserOptions::newFromAnon() )->getText( self::HTML );
	}

	# The template calls of the page's own text, those within other calls left out.
	private function calls( $text, $title ) {
		$parser = MediaWikiServices::getInstance()->getParserFactory()->create();
		$parser->startExternalParse( $title, ParserOptions::newFromAnon(), Parser::OT_HTML );
		$frame = $parser->getPreprocessor()->newFrame();
		$calls = [];
		$node = $parser->getPreprocessor()->preprocessToObj( $text )->getFirstChild();
		for ( ; $node; $node = $node->getNextSibling() ) {
			if ( !( $node instanceof PPNode_Hash_Tree ) || $node->getName() !== 'template' ) {
				continue;
			}
			$source = $frame->expand( $node, PPFrame::RECOVER_ORIG );
			if ( strlen( $source ) > self::CALL_BYTES_MAX ) {
				continue;
			}
			$GLOBALS['dsModules'] = [];
			$html = $this->html( $source, $title );
			$calls[] = [ 'source' => $source, 'html' => $html,
				'modules' => array_values( array_unique( $GLOBALS['dsModules'] ) ) ];
		}
		return $calls;
	}
}

$maintClass = RenderPages::class;
require_once RUN_MAINTENANCE_IF_MAIN;
