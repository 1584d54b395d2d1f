<?php
# The names of the functions in settings.php, as magic words of every language.
$magicWords = [ 'en' => [] ];
foreach ( $GLOBALS['functionsWithoutText'] as $name ) {
	$magicWords['en'][$name] = [ 0, $name ];
}
