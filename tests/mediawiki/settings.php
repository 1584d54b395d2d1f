<?php
# The settings of a wiki that renders a dump (render.sh appends this file to what the installer wrote).
#
# Extensions that Debian has are loaded. Of the others a wiki's pages show no output here: tags and functions of unknown
# extensions would be shown as text, which no reader of that wiki sees. So they get hooks: most show nothing, some their
# content. compare.py leaves formulas out of the comparison, by the class that the hook of <math> sets.
$site = json_decode( file_get_contents( getenv( 'DS_WIKI_DATA' ) . '/site.json' ), true );

wfLoadExtensions( [ 'ParserFunctions', 'Cite', 'Poem', 'Scribunto', 'ImageMap', 'InputBox', 'TemplateData',
	'CategoryTree' ] );
$wgPFEnableStringFunctions = true;
$wgScribuntoDefaultEngine = 'luasandbox';
$wgScribuntoEngineConf['luasandbox']['memoryLimit'] = 200 * 1024 * 1024;
$wgScribuntoEngineConf['luasandbox']['cpuLimit'] = 20;

$wgMainCacheType = $wgParserCacheType = $wgMessageCacheType = CACHE_NONE;
$wgSessionCacheType = CACHE_DB;
$wgJobRunRate = 0;
$wgEnableUploads = false;
$wgMaxArticleSize = 20480; # KiB
$wgMaxTemplateDepth = 100;
$wgExpensiveParserFunctionLimit = 5000;
$wgRestrictDisplayTitle = false;
$wgNonincludableNamespaces = [];

$wgSitename = $site['name'];
$wgCapitalLinks = $site['capital_links'];
foreach ( $site['namespaces'] as $key => $name ) {
	$name = strtr( $name, ' ', '_' );
	if ( $key == NS_PROJECT ) {
		$wgMetaNamespace = $name;
	} elseif ( $key == NS_PROJECT_TALK ) {
		$wgMetaNamespaceTalk = $name;
	} elseif ( $key > 0 ) {
		$wgExtraNamespaces[$key] = $name;
	}
}

# MediaWiki without the files shows their names or alternative texts as links: a picture is no text.
$wgHooks['ImageBeforeProduceHTML'][] = static function ( $linker, &$title, &$file, &$frame, &$handler, &$time, &$html ) {
	$html = '<span class="ds-picture"></span>';
	return false;
};

# Links to the wiki's other languages and sister projects: a new wiki has no table of their prefixes.
$wgHooks['InterwikiLoadPrefix'][] = static function ( $prefix, &$row ) {
	static $prefixes = null;
	if ( $prefixes === null ) {
		$languages = MediaWiki\MediaWikiServices::getInstance()->getLanguageNameUtils()->getLanguageNames();
		$sisters = explode( ' ', 'w wikipedia wikt wiktionary s wikisource b q n v voy c commons m meta d mw species ' .
			'wp wikia dev' );
		$prefixes = $languages + array_flip( $sisters );
	}
	if ( !isset( $prefixes[$prefix] ) ) {
		return true;
	}
	$row = [ 'iw_prefix' => $prefix, 'iw_url' => "http://127.0.0.1/$prefix/$1", 'iw_api' => '', 'iw_wikiid' => '',
		'iw_local' => 1, 'iw_trans' => 0 ];
	return false;
};

$tagsWithoutText = explode( ' ', 'templatestyles timeline score hiero graph chart mapframe maplink section languages ' .
	'infobox dpl dynamicpagelist rss poll youtube video googlemap indicator phonos nosearch quiz bibtex comments vote ' .
	'widget html css seo pages pagelist pagequality charinsert slideshow soundcloud spotify discord twitter music ' .
	'mainpage-leftcolumn-start mainpage-endcolumn mainpage-rightcolumn-start' );
$tagsWithText = explode( ' ', 'translate tvar nomobile mobileonly spoiler hover verse lang tab' );
$functionsWithoutText = explode( ' ', 'coordinates property statements lst lsth lstx section babel related widget seo ' .
	'dpl ask set show subobject css cargo_query cargo_store cargo_declare cargo_attach setmainimage assessment mapframe ' .
	'translation ev evt evu display_map noexternallanglinks' );

$wgHooks['ParserFirstCallInit'][] = static function ( Parser $parser ) use (
	$tagsWithoutText, $tagsWithText, $functionsWithoutText
) {
	$known = $parser->getTags();
	foreach ( array_diff( $tagsWithoutText, $known ) as $tag ) {
		$parser->setHook( $tag, static fn () => '' );
	}
	foreach ( array_diff( [ 'math', 'chem', 'ce' ], $known ) as $tag ) {
		$parser->setHook( $tag, static fn () => '<span class="ds-unknown"></span>' );
	}
	foreach ( array_diff( $tagsWithText, $known ) as $tag ) {
		$parser->setHook( $tag, static fn ( $text, $arguments, $parser, $frame ) =>
			$parser->recursiveTagParse( (string)$text, $frame ) );
	}
	# A program listing: the extension needs a program that colours it.
	foreach ( [ 'syntaxhighlight', 'source' ] as $tag ) {
		$parser->setHook( $tag, static fn ( $text, $arguments ) => isset( $arguments['inline'] ) ?
			'<code>' . htmlspecialchars( $text ) . '</code>' :
			'<pre class="ds-listing">' . htmlspecialchars( $text ) . '</pre>' );
	}
	# Tabs "Label=content" with "|-|" between them: the labels are shown above, the contents one after the other.
	if ( !in_array( 'tabber', $known ) ) {
		$parser->setHook( 'tabber', static function ( $text, $arguments, $parser, $frame ) {
			$html = '';
			foreach ( explode( '|-|', (string)$text ) as $tab ) {
				[ $label, $content ] = array_pad( explode( '=', $tab, 2 ), 2, '' );
				$html .= '<p>' . htmlspecialchars( trim( $label ) ) . "</p>\n\n" .
					$parser->recursiveTagParseFully( trim( $content ), $frame );
			}
			return "<div>$html</div>";
		} );
	}
	foreach ( array_diff( $functionsWithoutText, $parser->getFunctionHooks() ) as $function ) {
		$parser->setFunctionHook( $function, static fn () => '' );
	}
	# The modules that a call runs (render.php).
	$parser->setFunctionHook( 'invoke', static function ( $parser, $frame, $arguments ) {
		$GLOBALS['dsModules'][] = trim( $frame->expand( $arguments[0] ) );
		return ScribuntoHooks::invokeHook( $parser, $frame, $arguments );
	}, Parser::SFH_OBJECT_ARGS );
};
$wgExtensionMessagesFiles['DsFunctions'] = __DIR__ . '/functions.i18n.php';

# Modules that ask Wikidata get the answer that a page without an item gets.
$wgHooks['ScribuntoExternalLibraries'][] = static function ( $engine, array &$libraries ) {
	$libraries['mw.wikibase'] = DsWikibase::class;
};
$wgAutoloadClasses['DsWikibase'] = __DIR__ . '/wikibase.php';
